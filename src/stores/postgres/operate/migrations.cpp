#include "stores/postgres/operate/migrations.hpp"

#include "core/text.hpp"
#include "stores/postgres/operate/schema.hpp"
#include "stores/postgres/operate/schema_steps.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace sagabox::postgres {
namespace {

/// Of the first step, which a later one changes. Computed by the table, so that every producer in
/// every language agrees.
constexpr std::string_view shard_of_sql =
    "(coalesce({hash} & 2147483647::bigint, seq) % {shards}::bigint)::smallint";

/// Tables are not changed while somebody works on them for longer than this.
constexpr Duration lock_max = std::chrono::seconds(30);

constexpr std::string_view lock_sql =
    "SELECT pg_advisory_xact_lock(hashtextextended('sagabox migrations of {schema}', 0::bigint))";

constexpr std::string_view begin_sql = R"sql(
CREATE SCHEMA IF NOT EXISTS "{schema}";
CREATE TABLE IF NOT EXISTS "{schema}".migration (
  number     integer     NOT NULL,
  outbox     text        COLLATE "C" NOT NULL DEFAULT '',
  name       text        NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (number, outbox)
);
)sql";

constexpr std::string_view begun_sql =
    R"sql(SELECT to_regclass('"{schema}".migration') IS NOT NULL)sql";

constexpr std::string_view note_sql =
    R"sql(INSERT INTO "{schema}".migration (number, outbox, name) VALUES ($1, $2, $3))sql";

constexpr std::string_view forget_sql =
    R"sql(DELETE FROM "{schema}".migration WHERE number = $1 AND outbox = $2)sql";

constexpr std::string_view applied_sql = R"sql(
SELECT number, outbox, applied_at FROM "{schema}".migration ORDER BY number, outbox
)sql";

constexpr std::string_view count_sql =
    R"sql(SELECT count(*) FROM "{schema}".migration WHERE outbox IN ('', $1) AND number <= $2)sql";

constexpr std::string_view outboxes_sql =
    R"sql(SELECT DISTINCT outbox FROM "{schema}".migration WHERE outbox <> '' ORDER BY outbox)sql";

constexpr std::string_view all_shards_sql = R"sql(SELECT name, shards FROM "{schema}".outbox)sql";

constexpr std::string_view shards_sql =
    R"sql(SELECT shards FROM "{schema}".outbox WHERE name = $1)sql";

/// Nobody may write between the look and the drop.
constexpr std::string_view undelivered_sql = R"sql(
LOCK TABLE "{schema}"."{table}_outbox", "{schema}"."{table}_dead" IN ACCESS EXCLUSIVE MODE;
SELECT (EXISTS (SELECT FROM "{schema}"."{table}_outbox")
     OR EXISTS (SELECT FROM "{schema}"."{table}_dead"))::text
)sql";

constexpr std::string_view empty_sql =
    R"sql(TRUNCATE "{schema}"."{table}_outbox", "{schema}"."{table}_dead")sql";

constexpr std::string_view end_sql = R"sql(
DROP TABLE "{schema}".migration;
DROP SCHEMA "{schema}";
)sql";

ConnectSettings for_migrations(ConnectSettings settings) {
  settings.statement_max = Duration{};
  settings.lock_max = lock_max;
  return settings;
}

}  // namespace

Migrations::Migrations(Names names, ConnectSettings settings, std::uint16_t shards)
    : names_(std::move(names)), settings_(for_migrations(std::move(settings))), shards_(shards) {}

Result<std::unique_ptr<Connection>> Migrations::connect() const {
  return Connection::open(settings_);
}

std::string Migrations::fill(std::string_view sql, const TableName& table) const {
  static const std::string shard_of = replaced(shard_of_sql, "{hash}", key_hash_sql);
  const auto whole = replaced(names_.fill(sql, table), "{shard_of}", shard_of);
  return replaced(whole, "{shards}", std::to_string(shards_));
}

Status Migrations::prepare(const TableName& table) {
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  auto ready = is_ready(**connection, table);
  if (!ready.ok()) return ready.error();
  if (!*ready) {
    if (auto changed = change(**connection, table); !changed.ok()) return changed;
  }
  return check_shards(**connection, table);
}

Status Migrations::up() {
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  return change(**connection, std::nullopt);
}

Result<bool> Migrations::is_begun(Connection& connection) {
  auto there = connection.run({"", names_.fill(begun_sql)}, {}, Effect::none);
  if (!there.ok()) return there.error();
  return there->boolean(0, 0);
}

Result<bool> Migrations::is_ready(Connection& connection, const TableName& table) {
  auto begun = is_begun(connection);
  if (!begun.ok() || !*begun) return begun;
  const auto known = static_cast<std::int32_t>(migrations().size());
  Params params;
  params.text(table.str()).int4(known);
  auto count = connection.run({"", names_.fill(count_sql)}, params, Effect::none);
  if (!count.ok()) return count.error();
  return count->int8(0, 0) == 2 * std::int64_t{known};
}

Status Migrations::lock(Connection& connection) {
  if (auto begun = connection.begin(); !begun.ok()) return begun;
  auto locked = connection.run({"", names_.fill(lock_sql)}, {}, Effect::none);
  if (!locked.ok()) return locked.error();
  return {};
}

Status Migrations::change(Connection& connection, const std::optional<TableName>& wanted) {
  // An error on the way leaves a transaction open, which ends with the connection.
  if (auto locked = lock(connection); !locked.ok()) return locked;
  if (auto made = connection.script(names_.fill(begin_sql)); !made.ok()) return made;
  auto done = applied(connection);
  if (!done.ok()) return done.error();
  auto tables = outboxes(connection);
  if (!tables.ok()) return tables.error();
  if (wanted && std::ranges::find(*tables, *wanted) == tables->end()) tables->push_back(*wanted);
  const auto missing = [&](int number, const std::string& outbox) {
    return std::ranges::none_of(
        *done, [&](const Applied& step) { return step.number == number && step.outbox == outbox; });
  };
  for (const auto& step : migrations()) {
    if (missing(step.number, "")) {
      auto made = apply(connection, step.number, step.name, "", names_.fill(step.up));
      if (!made.ok()) return made;
    }
    for (const auto& table : *tables) {
      if (!missing(step.number, table.str())) continue;
      auto made =
          apply(connection, step.number, step.name, table.str(), fill(step.table_up, table));
      if (!made.ok()) return made;
    }
  }
  return connection.commit();
}

Status Migrations::apply(Connection& connection, int number, std::string_view name,
                         const std::string& outbox, const std::string& sql) {
  if (auto made = connection.script(sql); !made.ok()) {
    const std::string what = "migration " + std::to_string(number) + " (" + std::string(name) +
                             (outbox.empty() ? "" : ", outbox " + outbox) + "): ";
    return Error{made.error().code, what + made.error().message};
  }
  Params params;
  params.int4(number).text(outbox).text(name);
  auto noted = connection.run({"", names_.fill(note_sql)}, params, Effect::none);
  if (!noted.ok()) return noted.error();
  return {};
}

Result<std::vector<Migrations::Applied>> Migrations::applied(Connection& connection) {
  auto rows = connection.run({"", names_.fill(applied_sql)}, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  std::vector<Applied> steps;
  for (int i = 0; i < rows->size(); ++i) {
    steps.push_back({rows->int4(i, 0), std::string(rows->text(i, 1)), rows->timestamptz(i, 2)});
  }
  return steps;
}

Result<std::vector<TableName>> Migrations::outboxes(Connection& connection) {
  auto rows = connection.run({"", names_.fill(outboxes_sql)}, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  std::vector<TableName> tables;
  for (int i = 0; i < rows->size(); ++i) {
    auto name = TableName::parse(rows->text(i, 0));
    if (!name.ok()) return name.error();
    tables.push_back(*name);
  }
  return tables;
}

Status Migrations::check_shards(Connection& connection, const TableName& table) {
  Params params;
  params.text(table.str());
  auto rows = connection.run({"", names_.fill(shards_sql)}, params, Effect::none);
  if (!rows.ok()) return rows.error();
  if (rows->empty() || rows->int2(0, 0) == static_cast<std::int16_t>(shards_)) return {};
  return Error{Code::config_invalid, "outbox " + table.str() + " has " +
                                         std::to_string(rows->int2(0, 0)) + " shards, not " +
                                         std::to_string(shards_) +
                                         "; open the store with this count, or change it with "
                                         "reshard()"};
}

Result<std::map<std::string, std::uint16_t>> Migrations::shard_counts(Connection& connection) {
  auto rows = connection.run({"", names_.fill(all_shards_sql)}, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  std::map<std::string, std::uint16_t> counts;
  for (int i = 0; i < rows->size(); ++i) {
    counts.emplace(rows->text(i, 0), static_cast<std::uint16_t>(rows->int2(i, 1)));
  }
  return counts;
}

Status Migrations::down(const DownRequest& request) {
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  return take_back(**connection, request);
}

Status Migrations::take_back(Connection& connection, const DownRequest& request) {
  if (auto locked = lock(connection); !locked.ok()) return locked;
  auto begun = is_begun(connection);
  if (!begun.ok()) return begun.error();
  if (!*begun) return connection.commit();
  auto done = applied(connection);
  if (!done.ok()) return done.error();
  auto tables = outboxes(connection);
  if (!tables.ok()) return tables.error();
  for (const auto& table : *tables) {
    if (request.to > 0 || request.force) break;
    if (auto checked = check_delivered(connection, table); !checked.ok()) return checked;
  }
  // What is lost anyway does not stand in the way of an older step.
  for (const auto& table : *tables) {
    if (request.to > 0) break;
    if (auto emptied = connection.script(names_.fill(empty_sql, table)); !emptied.ok()) {
      return emptied;
    }
  }
  for (const auto& step : *done) {
    if (std::cmp_less_equal(step.number, migrations().size())) continue;
    return Error{Code::tx_invalid_state, "step " + std::to_string(step.number) +
                                             " was made by a newer version of sagabox; take it "
                                             "back with that one"};
  }
  // Newest first, and of each step the outboxes before what they share.
  for (const auto& step : std::views::reverse(*done)) {
    if (step.number <= request.to) continue;
    const auto& migration = migrations()[static_cast<std::size_t>(step.number - 1)];
    std::string sql = names_.fill(migration.down);
    if (!step.outbox.empty()) {
      sql = fill(migration.table_down, TableName::parse(step.outbox).value());
    }
    if (auto undone = connection.script(sql); !undone.ok()) {
      const bool taken = undone.error().code == Code::storage_conflict;
      return Error{taken ? Code::tx_invalid_state : undone.error().code,
                   "step " + std::to_string(step.number) + " (" + std::string(migration.name) +
                       (step.outbox.empty() ? "" : ", outbox " + step.outbox) +
                       ") cannot be taken back: " +
                       (taken ? "an id is there twice, which the older schema does not allow"
                              : undone.error().message)};
    }
    Params params;
    params.int4(step.number).text(step.outbox);
    auto forgotten = connection.run({"", names_.fill(forget_sql)}, params, Effect::none);
    if (!forgotten.ok()) return forgotten.error();
  }
  if (request.to <= 0) {
    if (auto ended = connection.script(names_.fill(end_sql)); !ended.ok()) return ended;
  }
  return connection.commit();
}

Status Migrations::check_delivered(Connection& connection, const TableName& table) {
  auto undelivered = connection.script_value(names_.fill(undelivered_sql, table));
  if (!undelivered.ok()) return undelivered.error();
  if (*undelivered == "false") return {};
  return Error{Code::tx_invalid_state,
               "outbox " + table.str() +
                   " has undelivered messages (pending, dead or quarantined), which would be lost; "
                   "deliver or purge them, or force it"};
}

Result<std::vector<MigrationStatus>> Migrations::status() {
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  auto begun = is_begun(**connection);
  if (!begun.ok()) return begun.error();
  auto done = *begun ? applied(**connection) : std::vector<Applied>{};
  if (!done.ok()) return done.error();
  auto tables = *begun ? outboxes(**connection) : std::vector<TableName>{};
  if (!tables.ok()) return tables.error();
  auto shards =
      tables->empty() ? std::map<std::string, std::uint16_t>{} : shard_counts(**connection);
  if (!shards.ok()) return shards.error();
  std::vector<std::string> owners{""};
  for (const auto& table : *tables) owners.push_back(table.str());
  std::vector<MigrationStatus> all;
  for (const auto& step : migrations()) {
    for (const auto& owner : owners) {
      const auto at = std::ranges::find_if(*done, [&](const Applied& one) {
        return one.number == step.number && one.outbox == owner;
      });
      all.push_back({step.number, std::string(step.name), owner,
                     at == done->end() ? std::nullopt : std::optional(at->at), (*shards)[owner]});
    }
  }
  return all;
}

}  // namespace sagabox::postgres
