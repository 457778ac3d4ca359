#include "stores/postgres/operate/migrations.hpp"

#include "core/text.hpp"
#include "stores/postgres/operate/schema_steps.hpp"
#include "stores/postgres/operate/step_record.hpp"

#include <sagabox/stores/postgres.hpp>

#include <algorithm>
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

constexpr std::string_view drop_schema_sql = R"sql(DROP SCHEMA "{schema}")sql";

/// With the names of an outbox.
std::string step_sql(std::string_view sql, const Names& names, const TableName& table,
                     std::uint16_t shards) {
  static const std::string shard_of = replaced(shard_of_sql, "{hash}", key_hash_sql);
  const auto whole = replaced(names.fill(sql, table), "{shard_of}", shard_of);
  return replaced(whole, "{shards}", std::to_string(shards));
}

ConnectSettings for_migrations(ConnectSettings settings) {
  settings.statement_max = Duration{};
  settings.lock_max = lock_max;
  return settings;
}

}  // namespace

std::string reference_sql(std::string_view sql) {
  static const auto names = Names::parse(schema_default).value();
  static const auto table = TableName::parse("orders").value();
  constexpr std::uint16_t shards = 16;
  return step_sql(sql, names, table, shards);
}

Migrations::Migrations(Names names, ConnectSettings settings, std::uint16_t shards,
                       std::span<const Engine> engines)
    : names_(std::move(names)),
      settings_(for_migrations(std::move(settings))),
      shards_(shards),
      engines_(engines) {}

Result<std::unique_ptr<Connection>> Migrations::connect() const {
  return Connection::open(settings_);
}

std::string Migrations::fill(std::string_view sql, const std::string& outbox) const {
  if (outbox.empty()) return names_.fill(sql);
  return step_sql(sql, names_, TableName::parse(outbox).value(), shards_);
}

Status Migrations::prepare(const TableName& table) {
  auto engine = schema::find_engine(engines_, spi::outbox_engine);
  if (!engine.ok()) return engine.error();
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  auto done = StepRecord(**connection, names_, **engine).read();
  if (!done.ok()) return done.error();
  if (!schema::missing(**engine, *done, std::span(&table, 1)).empty()) {
    if (auto changed = change(**connection, **engine, table); !changed.ok()) return changed;
  }
  return check_shards(**connection, table);
}

Status Migrations::up(const spi::SchemaUp& request) {
  auto engine = schema::find_engine(engines_, request.engine);
  if (!engine.ok()) return engine.error();
  if (auto checked = schema::check_up(**engine, request); !checked.ok()) return checked;
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  if (auto changed = change(**connection, **engine, request.outbox); !changed.ok()) return changed;
  return request.outbox ? check_shards(**connection, *request.outbox) : Status();
}

Status Migrations::lock(Connection& connection) {
  if (auto begun = connection.begin(); !begun.ok()) return begun;
  auto locked = connection.run({"", names_.fill(lock_sql)}, {}, Effect::none);
  if (!locked.ok()) return locked.error();
  return {};
}

Status Migrations::change(Connection& connection, const Engine& engine,
                          const std::optional<TableName>& wanted) {
  // An error on the way leaves a transaction open, which ends with the connection.
  if (auto locked = lock(connection); !locked.ok()) return locked;
  StepRecord record(connection, names_, engine);
  if (auto made = record.make(); !made.ok()) return made;
  auto done = record.read();
  if (!done.ok()) return done.error();
  auto tables = schema::outboxes_of(*done);
  if (!tables.ok()) return tables.error();
  if (wanted && std::ranges::find(*tables, *wanted) == tables->end()) tables->push_back(*wanted);
  for (const auto& part : schema::missing(engine, *done, *tables)) {
    if (auto applied = apply(connection, engine, part); !applied.ok()) return applied;
  }
  return connection.commit();
}

Status Migrations::apply(Connection& connection, const Engine& engine, const schema::Part& part) {
  if (auto made = connection.script(fill(part.up(), part.outbox)); !made.ok()) {
    return Error{made.error().code, part.text() + ": " + made.error().message};
  }
  return StepRecord(connection, names_, engine)
      .add(part, schema::checksum(reference_sql(part.up())));
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

Status Migrations::down(const spi::SchemaDown& request) {
  if (auto checked = schema::check_down(request); !checked.ok()) return checked;
  auto engine = schema::find_engine(engines_, request.engine);
  if (!engine.ok()) return engine.error();
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  return take_back(**connection, **engine, request);
}

Status Migrations::take_back(Connection& connection, const Engine& engine,
                             const spi::SchemaDown& request) {
  if (auto locked = lock(connection); !locked.ok()) return locked;
  StepRecord record(connection, names_, engine);
  auto there = record.is_there();
  if (!there.ok()) return there.error();
  if (!*there) return connection.commit();
  auto done = record.read();
  if (!done.ok()) return done.error();
  auto tables = schema::outboxes_of(*done);
  if (!tables.ok()) return tables.error();
  auto parts = schema::removable(engine, *done, *request.to);
  if (!parts.ok()) return parts.error();
  const bool everything = *request.to == 0;
  for (const auto& table : *tables) {
    if (!everything || request.force) break;
    if (auto checked = check_delivered(connection, table); !checked.ok()) return checked;
  }
  // What is lost anyway does not stand in the way of an older step.
  for (const auto& table : *tables) {
    if (!everything) break;
    if (auto emptied = connection.script(names_.fill(empty_sql, table)); !emptied.ok()) {
      return emptied;
    }
  }
  for (const auto& part : *parts) {
    if (auto undone = undo(connection, engine, part); !undone.ok()) return undone;
  }
  if (everything) {
    if (auto ended = end(connection, engine); !ended.ok()) return ended;
  }
  return connection.commit();
}

Status Migrations::undo(Connection& connection, const Engine& engine, const schema::Part& part) {
  if (auto undone = connection.script(fill(part.down(), part.outbox)); !undone.ok()) {
    const bool taken = undone.error().code == Code::storage_conflict;
    return Error{taken ? Code::tx_invalid_state : undone.error().code,
                 part.text() + " cannot be taken back: " +
                     (taken ? "an id is there twice, which the older schema does not allow"
                            : undone.error().message)};
  }
  return StepRecord(connection, names_, engine).remove(part);
}

Status Migrations::end(Connection& connection, const Engine& engine) {
  if (auto dropped = StepRecord(connection, names_, engine).drop(); !dropped.ok()) return dropped;
  for (const auto& other : engines_) {
    auto there = StepRecord(connection, names_, other).is_there();
    if (!there.ok()) return there.error();
    if (*there) return {};
  }
  return connection.script(names_.fill(drop_schema_sql));
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

Result<std::vector<spi::SchemaStep>> Migrations::status() {
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  std::vector<spi::SchemaStep> all;
  for (const auto& engine : engines_) {
    auto done = StepRecord(**connection, names_, engine).read();
    if (!done.ok()) return done.error();
    auto tables = schema::outboxes_of(*done);
    if (!tables.ok()) return tables.error();
    Result<std::map<std::string, std::uint16_t>> shards =
        tables->empty() ? std::map<std::string, std::uint16_t>() : shard_counts(**connection);
    if (!shards.ok()) return shards.error();
    for (auto& step : schema::status_of(engine, *done, *tables, reference_sql)) {
      step.shards = (*shards)[step.outbox];
      all.push_back(std::move(step));
    }
  }
  return schema::shown(std::move(all));
}

}  // namespace sagabox::postgres
