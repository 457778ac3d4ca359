#include "stores/postgres/operate/step_record.hpp"

#include "core/text.hpp"
#include "stores/postgres/driver/values.hpp"

namespace sagabox::postgres {
namespace {

constexpr std::string_view record_there_sql =
    R"sql(SELECT to_regclass('"{schema}".{record}') IS NOT NULL)sql";

// The column is looked for first: ALTER TABLE would wait for everybody who reads the record.
constexpr std::string_view make_record_sql = R"sql(
CREATE SCHEMA IF NOT EXISTS "{schema}";
CREATE TABLE IF NOT EXISTS "{schema}".{record} (
  number     integer     NOT NULL,
  outbox     text        COLLATE "C" NOT NULL DEFAULT '',
  name       text        NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  checksum   text        COLLATE "C",
  PRIMARY KEY (number, outbox)
);
DO $do$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute
                 WHERE attrelid = '"{schema}".{record}'::regclass AND attname = 'checksum') THEN
    ALTER TABLE "{schema}".{record} ADD COLUMN checksum text COLLATE "C";
  END IF;
END $do$;
)sql";

constexpr std::string_view drop_record_sql = R"sql(DROP TABLE "{schema}".{record})sql";

// As JSON: the record of an older version has no column `checksum`.
constexpr std::string_view read_record_sql = R"sql(
SELECT number, outbox, applied_at, coalesce(to_jsonb(step) ->> 'checksum', '')
FROM "{schema}".{record} AS step
)sql";

constexpr std::string_view add_step_sql = R"sql(
INSERT INTO "{schema}".{record} (number, outbox, name, checksum) VALUES ($1, $2, $3, $4)
)sql";

constexpr std::string_view remove_step_sql =
    R"sql(DELETE FROM "{schema}".{record} WHERE number = $1 AND outbox = $2)sql";

}  // namespace

std::string StepRecord::fill(std::string_view sql) const {
  return replaced(names_.fill(sql), "{record}", table_);
}

Result<bool> StepRecord::is_there() {
  auto there = connection_.run({"", fill(record_there_sql)}, {}, Effect::none);
  if (!there.ok()) return there.error();
  return there->boolean(0, 0);
}

Status StepRecord::make() { return connection_.script(fill(make_record_sql)); }

Status StepRecord::drop() { return connection_.script(fill(drop_record_sql)); }

Result<std::vector<schema::Applied>> StepRecord::read() {
  std::vector<schema::Applied> steps;
  auto there = is_there();
  if (!there.ok()) return there.error();
  if (!*there) return steps;
  auto rows = connection_.run({"", fill(read_record_sql)}, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  for (int i = 0; i < rows->size(); ++i) {
    steps.push_back({rows->int4(i, 0), std::string(rows->text(i, 1)), rows->timestamptz(i, 2),
                     std::string(rows->text(i, 3))});
  }
  return steps;
}

Status StepRecord::add(const schema::Part& part, const std::string& checksum) {
  Params params;
  params.int4(part.step->number).text(part.outbox).text(part.step->name).text(checksum);
  auto added = connection_.run({"", fill(add_step_sql)}, params, Effect::none);
  if (!added.ok()) return added.error();
  return {};
}

Status StepRecord::remove(const schema::Part& part) {
  Params params;
  params.int4(part.step->number).text(part.outbox);
  auto removed = connection_.run({"", fill(remove_step_sql)}, params, Effect::none);
  if (!removed.ok()) return removed.error();
  return {};
}

}  // namespace sagabox::postgres
