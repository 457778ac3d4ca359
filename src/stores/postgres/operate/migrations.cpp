#include "stores/postgres/operate/migrations.hpp"

#include "core/text.hpp"
#include "stores/postgres/driver/session.hpp"
#include "stores/postgres/operate/schema_steps.hpp"

#include <sagabox/stores/postgres.hpp>

#include <algorithm>
#include <utility>

namespace sagabox::postgres {
namespace {

/// The shard expression of the first step, which a later step changes. The table computes it, so
/// that every producer in every language agrees.
constexpr std::string_view shard_of_sql =
    "(coalesce({hash} & 2147483647::bigint, seq) % {shards}::bigint)::smallint";

/// A change of tables waits for other users of them at most this long.
constexpr Duration lock_max = std::chrono::seconds(30);

/// Fills in the names of an outbox.
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

/// An open transaction of a connection.
class ChangeSession final : public sql::SchemaSession {
 public:
  using sql::Session::run;
  explicit ChangeSession(Connection& connection) : connection_(connection), session_(connection) {}
  ~ChangeSession() override {
    if (connection_.in_transaction()) (void)connection_.rollback();
  }
  Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override {
    return session_.run(calls);
  }
  Result<WallTime> now() override { return session_.now(); }
  Status script(const std::string& sql) override { return connection_.script(sql); }
  Status commit() override { return connection_.commit(); }
  Status rollback() override { return connection_.rollback(); }

 private:
  Connection& connection_;
  ConnectionSession session_;
};

}  // namespace

std::string reference_sql(std::string_view sql) {
  static const auto names = Names::parse(schema_default).value();
  static const auto table = TableName::parse("orders").value();
  constexpr std::uint16_t shards = 16;
  return step_sql(sql, names, table, shards);
}

Migrations::Migrations(sql::Sections& sections, Names names, ConnectSettings settings,
                       std::uint16_t shards, std::span<const Engine> engines)
    : names_(std::move(names)),
      settings_(for_migrations(std::move(settings))),
      shards_(shards),
      migrator_(sections, engines, reference_sql, *this),
      lock_(sections.take("schema_lock")),
      drop_schema_(sections.take("schema_drop")),
      counts_(sections.take("outbox_shards")) {}

Result<std::unique_ptr<Connection>> Migrations::connect() const {
  return Connection::open(settings_);
}

std::string Migrations::fill(std::string_view sql, const std::string& outbox) const {
  if (outbox.empty()) return replaced(names_.fill(sql), "{shards}", std::to_string(shards_));
  return step_sql(sql, names_, TableName::parse(outbox).value(), shards_);
}

Status Migrations::removed_all(sql::Session& session) const {
  auto dropped = session.run(drop_schema_);
  if (!dropped.ok()) return dropped.error();
  return {};
}

Result<std::unique_ptr<sql::SchemaSession>> Migrations::begin(Connection& connection) const {
  if (auto begun = connection.begin(); !begun.ok()) return begun.error();
  std::unique_ptr<sql::SchemaSession> session = std::make_unique<ChangeSession>(connection);
  if (auto locked = session->run(lock_); !locked.ok()) return locked.error();
  return session;
}

Status Migrations::prepare(const TableName& table) {
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  ConnectionSession reader(**connection);
  auto complete = migrator_.is_complete(reader, table);
  if (!complete.ok()) return complete.error();
  if (!*complete) {
    auto session = begin(**connection);
    if (!session.ok()) return session.error();
    if (auto made = migrator_.up(**session, {.outbox = table}); !made.ok()) return made;
  }
  return check_shards(**connection, table);
}

Status Migrations::prepare(std::string_view engine) {
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  ConnectionSession reader(**connection);
  auto complete = migrator_.is_complete(reader, engine);
  if (!complete.ok()) return complete.error();
  if (*complete) return {};
  auto session = begin(**connection);
  if (!session.ok()) return session.error();
  return migrator_.up(**session, {.engine = std::string(engine)});
}

Status Migrations::up(const spi::SchemaUp& request) {
  if (auto checked = migrator_.check(request); !checked.ok()) return checked;
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  auto session = begin(**connection);
  if (!session.ok()) return session.error();
  if (auto made = migrator_.up(**session, request); !made.ok()) return made;
  return request.outbox ? check_shards(**connection, *request.outbox) : Status();
}

Status Migrations::check_shards(Connection& connection, const TableName& table) {
  auto counts = shard_counts(connection, table.str());
  if (!counts.ok()) return counts.error();
  const auto known = counts->find(table.str());
  if (known == counts->end() || known->second == shards_) return {};
  return Error{Code::config_invalid, "outbox " + table.str() + " has " +
                                         std::to_string(known->second) + " shards, not " +
                                         std::to_string(shards_) +
                                         "; open the store with this count, or change it with "
                                         "reshard()"};
}

Result<std::map<std::string, std::uint16_t>> Migrations::shard_counts(
    Connection& connection, const std::optional<std::string>& outbox) {
  auto rows = ConnectionSession(connection).run(counts_, {outbox});
  if (!rows.ok()) return rows.error();
  std::map<std::string, std::uint16_t> counts;
  for (const auto row : *rows) {
    counts.emplace(row.text(0), static_cast<std::uint16_t>(row.integer(1)));
  }
  return counts;
}

Status Migrations::down(const spi::SchemaDown& request) {
  if (auto checked = migrator_.check(request); !checked.ok()) return checked;
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  auto session = begin(**connection);
  if (!session.ok()) return session.error();
  return migrator_.down(**session, request);
}

Result<std::vector<spi::SchemaStep>> Migrations::status() {
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  ConnectionSession reader(**connection);
  auto steps = migrator_.status(reader);
  if (!steps.ok()) return steps;
  if (std::ranges::all_of(*steps, &std::string::empty, &spi::SchemaStep::outbox)) return steps;
  auto shards = shard_counts(**connection, std::nullopt);
  if (!shards.ok()) return shards.error();
  for (auto& step : *steps) step.shards = (*shards)[step.outbox];
  return steps;
}

}  // namespace sagabox::postgres
