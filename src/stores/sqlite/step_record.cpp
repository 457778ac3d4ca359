#include "stores/sqlite/step_record.hpp"

namespace sagabox::sqlite {
namespace {

Result<bool> is_above_zero(Run run) {
  auto row = run.step();
  if (!row.ok()) return row.error();
  return *row && run.integer(0) > 0;
}

}  // namespace

StepRecord::StepRecord(Connection& connection, const schema::Engine& engine)
    : table_(engine.record),
      count_table_{"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '" + table_ +
                   "'"},
      count_column_{"SELECT count(*) FROM pragma_table_info('" + table_ +
                    "') WHERE name = 'checksum'"},
      read_{"SELECT number, outbox, applied_at, checksum FROM " + table_},
      read_without_checksums_{"SELECT number, outbox, applied_at, NULL FROM " + table_},
      add_{"INSERT INTO " + table_ +
           " (number, outbox, name, applied_at, checksum) VALUES (?1, ?2, ?3, ?4, ?5)"},
      remove_{"DELETE FROM " + table_ + " WHERE number = ?1 AND outbox = ?2"},
      link_(connection.handle()) {}

Result<bool> StepRecord::is_there() { return is_above_zero(link_.run(count_table_)); }

Result<bool> StepRecord::has_checksums() { return is_above_zero(link_.run(count_column_)); }

Status StepRecord::make() {
  const auto made = link_.script("CREATE TABLE IF NOT EXISTS " + table_ + R"sql( (
  number     INTEGER NOT NULL,
  outbox     TEXT    NOT NULL DEFAULT '',
  name       TEXT    NOT NULL,
  applied_at INTEGER NOT NULL,
  checksum   TEXT,
  PRIMARY KEY (number, outbox)
) STRICT, WITHOUT ROWID)sql");
  if (!made.ok()) return made;
  auto complete = has_checksums();
  if (!complete.ok()) return complete.error();
  if (*complete) return {};
  return link_.script("ALTER TABLE " + table_ + " ADD COLUMN checksum TEXT");
}

Status StepRecord::drop() {
  // A statement that is kept prepared would hold the table.
  link_.forget_statements();
  return link_.script("DROP TABLE " + table_);
}

Result<std::vector<schema::Applied>> StepRecord::read() {
  std::vector<schema::Applied> steps;
  auto there = is_there();
  if (!there.ok()) return there.error();
  if (!*there) return steps;
  auto checksums = has_checksums();
  if (!checksums.ok()) return checksums.error();
  auto run = link_.run(*checksums ? read_ : read_without_checksums_);
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    if (!*row) return steps;
    steps.push_back({static_cast<int>(run.integer(0)), std::string(run.text(1)), run.time(2),
                     std::string(run.text(3))});
  }
}

Status StepRecord::add(const schema::Part& part, const std::string& checksum, WallTime now) {
  return link_.run(add_)
      .with(part.step->number)
      .with(part.outbox)
      .with(part.step->name)
      .with(now)
      .with(checksum)
      .finish();
}

Status StepRecord::remove(const schema::Part& part) {
  return link_.run(remove_).with(part.step->number).with(part.outbox).finish();
}

}  // namespace sagabox::sqlite
