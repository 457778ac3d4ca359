#include "core/scopes.hpp"
#include "stores/postgres/driver/session.hpp"
#include "stores/postgres/operate/admin_store.hpp"
#include "stores/postgres/operate/migrations.hpp"
#include "stores/postgres/operate/schema_steps.hpp"

#include <string>
#include <utility>

namespace sagabox::postgres {
namespace {

constexpr std::string_view outbox_sql = R"sql(
SELECT shards FROM "{schema}".outbox WHERE name = $1 FOR NO KEY UPDATE
)sql";

// The row exists from here on: a worker that joins waits for this transaction, and sees the new
// count.
constexpr std::string_view scope_sql = R"sql(
INSERT INTO "{schema}".scope (name, shards) VALUES ($1, $2) ON CONFLICT DO NOTHING
)sql";

constexpr std::string_view lock_scope_sql = R"sql(
SELECT FROM "{schema}".scope WHERE name = $1 FOR UPDATE
)sql";

// In the same order as settles lock them.
constexpr std::string_view lock_owners_sql = R"sql(
SELECT FROM "{schema}".shard_owner WHERE scope = $1 ORDER BY shard FOR UPDATE
)sql";

constexpr std::string_view relays_sql = R"sql(
SELECT w.id FROM "{schema}".worker w
WHERE w.lease_until > clock_timestamp()
  AND (EXISTS (SELECT FROM "{schema}".member m WHERE m.worker = w.id AND m.scope = $1)
    OR EXISTS (SELECT FROM "{schema}".shard_owner o WHERE o.owner = w.id AND o.scope = $1))
ORDER BY w.id
)sql";

/// Counts up to $1 rows; a larger number is estimated.
constexpr std::string_view move_pending_sql = R"sql(
SELECT CASE WHEN counted < $1 THEN counted
       ELSE greatest(counted, pg_stat_get_live_tuples('"{schema}"."{table}_outbox"'::regclass)) END
FROM (SELECT count(*) AS counted FROM (
        SELECT FROM "{schema}"."{table}_outbox" ORDER BY seq LIMIT $1) AS rows) AS one
)sql";

// The table is locked before the owners' rows, as in most settles: a statement has the lock on its
// table before it locks those. While this LOCK waits, later requests queue behind it.
constexpr std::string_view lock_table_sql = R"sql(
SET LOCAL lock_timeout = '2s';
LOCK TABLE "{schema}"."{table}_outbox" IN ACCESS EXCLUSIVE MODE;
)sql";

// All shards are taken from their owners, and no key ever meets a lower epoch than before. A worker
// that is no longer a member is not in the census; it joins again, and is told the new count.
constexpr std::string_view hand_over_sql = R"sql(
UPDATE "{schema}".outbox SET shards = {shards} WHERE name = '{table}';
UPDATE "{schema}".scope SET shards = {shards} WHERE name = '{scope}';
DELETE FROM "{schema}"."{table}_claim";
DELETE FROM "{schema}".member WHERE scope = '{scope}';
WITH gone AS (
  DELETE FROM "{schema}".shard_owner WHERE scope = '{scope}' RETURNING epoch
)
INSERT INTO "{schema}".shard_owner (scope, shard, epoch)
SELECT '{scope}', shard, (SELECT coalesce(max(epoch), 0) + 1 FROM gone)
FROM generate_series(0, {shards} - 1) AS shard;
)sql";

constexpr std::string_view analyze_sql = R"sql(ANALYZE "{schema}"."{table}_outbox")sql";

/// Measured on two busy cores: rows of 1 kB, all indexes.
constexpr std::int64_t rows_a_second = 30'000;

Error no_outbox(const TableName& table) {
  return {Code::config_invalid,
          "there is no outbox \"" + table.str() + "\" in this schema; call prepare() for it first"};
}

Error relays_run(const TableName& table, std::size_t count) {
  return {Code::tx_invalid_state,
          std::to_string(count) + (count == 1 ? " relay runs" : " relays run") + " on outbox " +
              table.str() + "; stop " + (count == 1 ? "it" : "them") +
              " first, or force it and have what is in flight delivered twice"};
}

}  // namespace

Result<spi::ReshardReport> Migrations::reshard(const spi::ReshardRequest& request) {
  // A settle may deadlock with the reshard; the server then ends one of the two.
  constexpr int tries_max = 3;
  for (int tried = 1;; ++tried) {
    bool met = false;
    auto report = reshard_once(request, met);
    if (!met || tried == tries_max) return report;
  }
}

Result<spi::ReshardReport> Migrations::reshard_once(const spi::ReshardRequest& request, bool& met) {
  const auto& table = request.outbox;
  auto connection = connect();
  if (!connection.ok()) return connection.error();
  auto session = begin(**connection);
  if (!session.ok()) return session.error();
  auto report = look_at_shards(**connection, table);
  if (!report.ok() || request.dry_run) return report;
  if (report->shards == report->shards_before) return report;
  const auto refuses = [&] { return !report->relays.empty() && !request.force; };
  if (refuses()) return relays_run(table, report->relays.size());
  // There were no relays a moment ago: check again after the locks keep new ones out.
  if (auto locked = (*connection)->script(fill(lock_table_sql, table.str())); !locked.ok()) {
    return locked.error();
  }
  if (auto locked = lock_owners(**connection, table, report->shards_before); !locked.ok()) {
    met = locked.error().code == Code::storage_conflict;
    return locked.error();
  }
  report = look_at_shards(**connection, table);
  if (!report.ok()) return report;
  if (refuses()) return relays_run(table, report->relays.size());
  for (const auto& sql : {std::string(hand_over_sql), rebuild_shard_sql(tenant_key_hash_sql),
                          std::string(analyze_sql)}) {
    if (auto done = (*connection)->script(fill(sql, table.str())); !done.ok()) return done.error();
  }
  if (auto done = (*session)->commit(); !done.ok()) return done.error();
  report->changed = true;
  return report;
}

Status Migrations::lock_owners(Connection& connection, const TableName& table,
                               std::uint16_t shards) {
  Params scope;
  scope.text(outbox_scope(table));
  Params made = scope;
  made.int2(static_cast<std::int16_t>(shards));
  const Statement statements[] = {{"", names_.fill(scope_sql)},
                                  {"", names_.fill(lock_scope_sql)},
                                  {"", names_.fill(lock_owners_sql)}};
  const Call calls[] = {
      {&statements[0], &made}, {&statements[1], &scope}, {&statements[2], &scope}};
  auto locked = connection.run(calls, Effect::none);
  if (!locked.ok()) return locked.error();
  return {};
}

Result<spi::ReshardReport> Migrations::look_at_shards(Connection& connection,
                                                      const TableName& table) {
  ConnectionSession session(connection);
  auto made = migrator_.is_made(session);
  if (!made.ok()) return made.error();
  if (!*made) return no_outbox(table);
  Params name;
  name.text(table.str());
  auto known = connection.run({"", names_.fill(outbox_sql)}, name, Effect::none);
  if (!known.ok()) return known.error();
  if (known->empty()) return no_outbox(table);
  spi::ReshardReport report;
  report.shards_before = static_cast<std::uint16_t>(known->int2(0, 0));
  report.shards = shards_;

  Params scope;
  scope.text(outbox_scope(table));
  Params counted;
  counted.int8(stats_rows_exact);
  const Statement statements[] = {{"", names_.fill(relays_sql)},
                                  {"", names_.fill(move_pending_sql, table)}};
  const Call calls[] = {{&statements[0], &scope}, {&statements[1], &counted}};
  auto answers = connection.run(calls, Effect::none);
  if (!answers.ok()) return answers.error();
  const Rows& relays = (*answers)[0];
  for (int row = 0; row < relays.size(); ++row) {
    if (auto id = WorkerId::parse(relays.text(row, 0)); id.ok()) report.relays.push_back(*id);
  }
  report.pending = (*answers)[1].uint8(0, 0);
  report.blocked =
      std::chrono::milliseconds(static_cast<std::int64_t>(report.pending) * 1000 / rows_a_second);
  return report;
}

}  // namespace sagabox::postgres
