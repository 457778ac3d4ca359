#include "stores/postgres/operate/doctor_store.hpp"

#include "core/text.hpp"
#include "stores/postgres/operate/schema.hpp"
#include "stores/schema_findings.hpp"

#include <charconv>
#include <map>
#include <string>
#include <utility>

namespace sagabox::postgres {
namespace {

using Findings = std::vector<spi::Finding>;

constexpr std::string_view last_sql =
    R"sql(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM "{schema}"."{table}_seq")sql";

// What a new session gets, whatever ours has set.
constexpr std::string_view settings_sql = R"sql(
SELECT name, reset_val FROM pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'track_counts',
               'autovacuum_naptime')
)sql";

constexpr std::string_view indexes_sql = R"sql(
SELECT c.relname::text FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND i.indisvalid
)sql";

constexpr std::string_view holders_sql = R"sql(
SELECT kind, holder, coalesce(seconds, 0)::int8, coalesce(transactions, 0)
FROM "{schema}".horizon_holders()
)sql";

constexpr std::string_view leftovers_sql = R"sql(
SELECT n_live_tup, n_dead_tup, coalesce(extract(epoch FROM clock_timestamp() -
         greatest(last_vacuum, last_autovacuum))::int8, -1)
FROM pg_stat_user_tables WHERE relid = '"{schema}"."{table}_outbox"'::regclass
)sql";

constexpr std::string_view audit_head_sql = R"sql(SELECT count(*) FROM "{schema}".audit_head)sql";

constexpr std::string_view rights_sql =
    "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')";

constexpr std::int64_t naptime_seconds_max = 15;
constexpr std::int64_t transaction_seconds_max = 60;
constexpr std::int64_t slot_transactions_max = 1'000'000;
constexpr std::int64_t leftovers_max = 200'000;

std::string seconds_text(std::int64_t seconds) { return age_text(std::chrono::seconds(seconds)); }

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Status add_settings(Connection& connection, Findings& findings) {
  auto rows = connection.run({"", std::string(settings_sql)}, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  std::map<std::string, std::string> settings;
  for (int i = 0; i < rows->size(); ++i) settings.emplace(rows->text(i, 0), rows->text(i, 1));
  const auto off = [&](const std::string& name, Severity severity, const std::string& meaning) {
    if (settings[name] != "off") return;
    findings.push_back({severity, name + " is off: " + meaning, "set " + name + " = on"});
  };
  off("fsync", Severity::critical, "a power cut loses or destroys what was committed");
  off("full_page_writes", Severity::critical, "a power cut may destroy pages");
  off("synchronous_commit", Severity::warning,
      "a crash of the server loses the last commits, messages among them");
  off("autovacuum", Severity::error, "delivered rows are never cleared up, and reads get slower");
  off("track_counts", Severity::error, "autovacuum does not know what to clear up");
  if (const auto nap = number(settings["autovacuum_naptime"]); nap > naptime_seconds_max) {
    findings.push_back({Severity::info,
                        "autovacuum_naptime is " + seconds_text(nap) +
                            ": so long delivered rows lie in the way of reads",
                        "for a busy outbox set autovacuum_naptime = 10s, unless its relays own its "
                        "tables: then they vacuum them themselves"});
  }
  return {};
}

Status add_missing_indexes(Connection& connection, const Names& names,
                           const std::vector<TableName>& tables, Findings& findings) {
  Params params;
  params.text(names.schema());
  auto rows = connection.run({"", std::string(indexes_sql)}, params, Effect::none);
  if (!rows.ok()) return rows.error();
  std::vector<std::string> valid;
  for (int i = 0; i < rows->size(); ++i) valid.emplace_back(rows->text(i, 0));
  for (const auto& table : tables) {
    for (const auto& pattern : schema::all_index_names(engines())) {
      const auto name = names.fill(pattern, table);
      if (std::ranges::find(valid, name) != valid.end()) continue;
      findings.push_back(schema::missing_index(table.str(), name));
    }
  }
  return {};
}

Status add_holders(Connection& connection, const Names& names, Findings& findings) {
  auto rows = connection.run({"", names.fill(holders_sql)}, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  for (int i = 0; i < rows->size(); ++i) {
    const std::string kind(rows->text(i, 0));
    const std::string holder(rows->text(i, 1));
    const auto seconds = rows->int8(i, 2);
    const auto transactions = rows->int8(i, 3);
    const std::string harm = ": nothing deleted since is cleared up, and reads get slower";
    if (kind == "slot" && transactions > slot_transactions_max) {
      findings.push_back({Severity::warning,
                          "replication slot " + quoted(holder) + " holds on to the last " +
                              std::to_string(transactions) + " transactions" + harm,
                          "start its consumer, or pg_drop_replication_slot"});
    } else if (kind != "slot" && seconds > transaction_seconds_max) {
      const bool prepared = kind == "prepared";
      findings.push_back({Severity::warning,
                          (prepared ? "prepared transaction " + quoted(holder)
                                    : "the transaction of process " + holder) +
                              " has been open for " + seconds_text(seconds) + harm,
                          prepared ? "COMMIT PREPARED or ROLLBACK PREPARED it"
                                   : "end it, or SELECT pg_terminate_backend(" + holder + ")"});
    }
  }
  return {};
}

Status add_leftovers(Connection& connection, const Names& names, const TableName& table,
                     Findings& findings) {
  auto rows = connection.run({"", names.fill(leftovers_sql, table)}, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  if (rows->empty()) return {};
  const auto live = rows->int8(0, 0);
  const auto dead = rows->int8(0, 1);
  if (dead <= leftovers_max || dead <= 2 * live) return {};
  const auto since = rows->int8(0, 2);
  findings.push_back(
      {Severity::warning,
       "outbox " + table.str() + " has " + std::to_string(dead) + " deleted rows to clear up; " +
           (since < 0 ? "it was never vacuumed" : "last vacuumed " + seconds_text(since) + " ago"),
       "VACUUM \"" + names.schema() + "\".\"" + table.str() +
           "_outbox\", and look why autovacuum "
           "is late"});
  return {};
}

Status add_audit_head(Connection& connection, const Names& names, Findings& findings) {
  auto rows = connection.run({"", names.fill(audit_head_sql)}, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  if (rows->int8(0, 0) == 0) findings.push_back(schema::missing_audit_head("audit_head"));
  return {};
}

Status add_rights(Connection& connection, Findings& findings) {
  auto rows = connection.run({"", std::string(rights_sql)}, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  if (!rows->boolean(0, 0)) {
    findings.push_back({Severity::info,
                        "this role does not see transactions of others, which may keep the "
                        "database from clearing up",
                        "GRANT pg_read_all_stats to it"});
  }
  return {};
}

std::vector<TableName> tables_in(const std::vector<spi::SchemaStep>& steps) {
  std::vector<TableName> tables;
  for (const auto& step : steps) {
    if (step.number != 1 || step.outbox.empty()) continue;
    if (auto name = TableName::parse(step.outbox); name.ok()) tables.push_back(*name);
  }
  return tables;
}

}  // namespace

Result<std::vector<TableName>> PostgresDoctor::tables() {
  const auto steps = context_.migrations.status();
  if (!steps.ok()) return steps.error();
  return tables_in(*steps);
}

Result<Sequence> PostgresDoctor::last_sequence(const TableName& table) {
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  auto rows = (*connection)->run({"", context_.names.fill(last_sql, table)}, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  return Sequence{rows->uint8(0, 0)};
}

Result<bool> PostgresDoctor::is_current() {
  const auto steps = context_.migrations.status();
  if (!steps.ok()) return steps.error();
  return schema::is_current(*steps);
}

Result<std::vector<spi::Finding>> PostgresDoctor::findings() {
  const auto steps = context_.migrations.status();
  if (!steps.ok()) return steps.error();
  auto findings = schema::of_steps(*steps);
  const bool current = findings.empty();
  schema::add_differing(*steps, findings);
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  if (auto added = add_settings(**connection, findings); !added.ok()) return added.error();
  if (!current) return findings;
  const auto tables = tables_in(*steps);
  auto added = add_missing_indexes(**connection, context_.names, tables, findings);
  if (!added.ok()) return added.error();
  if (added = add_audit_head(**connection, context_.names, findings); !added.ok()) {
    return added.error();
  }
  if (added = add_holders(**connection, context_.names, findings); !added.ok()) {
    return added.error();
  }
  for (const auto& table : tables) {
    added = add_leftovers(**connection, context_.names, table, findings);
    if (!added.ok()) return added.error();
  }
  if (added = add_rights(**connection, findings); !added.ok()) return added.error();
  return findings;
}

}  // namespace sagabox::postgres
