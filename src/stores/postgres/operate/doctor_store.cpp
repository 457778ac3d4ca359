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

std::vector<TableName> tables_in(const std::vector<spi::SchemaStep>& steps) {
  std::vector<TableName> tables;
  for (const auto& step : steps) {
    if (step.number != 1 || step.outbox.empty()) continue;
    if (auto name = TableName::parse(step.outbox); name.ok()) tables.push_back(*name);
  }
  return tables;
}

}  // namespace

Result<PostgresDoctor::Schema> PostgresDoctor::schema() {
  const auto steps = context_.migrations.status();
  if (!steps.ok()) return steps.error();
  return Schema{schema::of_steps(*steps), schema::differing(*steps), tables_in(*steps)};
}

std::set<std::string> PostgresDoctor::index_names() const {
  return schema::all_index_names(engines());
}

Status PostgresDoctor::look_first(sql::Session& session, Findings& findings) {
  auto rows = session.run(settings_);
  if (!rows.ok()) return rows.error();
  std::map<std::string, std::string> settings;
  for (const auto row : *rows) settings.emplace(row.text(0), row.text(1));
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

Status PostgresDoctor::add_holders(sql::Session& session, Findings& findings) {
  auto rows = session.run(holders_);
  if (!rows.ok()) return rows.error();
  for (const auto row : *rows) {
    const std::string kind(row.text(0));
    const std::string holder(row.text(1));
    const auto seconds = row.integer(2);
    const auto transactions = row.integer(3);
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

Status PostgresDoctor::add_leftovers(sql::Session& session, const TableName& table,
                                     Findings& findings) {
  auto rows = session.run(of_table_.of(table).leftovers);
  if (!rows.ok()) return rows.error();
  if (rows->empty()) return {};
  const auto live = rows->front().integer(0);
  const auto dead = rows->front().integer(1);
  if (dead <= leftovers_max || dead <= 2 * live) return {};
  const auto since = rows->front().integer(2);
  findings.push_back(
      {Severity::warning,
       "outbox " + table.str() + " has " + std::to_string(dead) + " deleted rows to clear up; " +
           (since < 0 ? "it was never vacuumed" : "last vacuumed " + seconds_text(since) + " ago"),
       "VACUUM \"" + context_.names.schema() + "\".\"" + table.str() +
           "_outbox\", and look why autovacuum "
           "is late"});
  return {};
}

Status PostgresDoctor::add_rights(sql::Session& session, Findings& findings) {
  auto rows = session.run(rights_);
  if (!rows.ok()) return rows.error();
  if (!rows->front().boolean(0)) {
    findings.push_back({Severity::info,
                        "this role does not see transactions of others, which may keep the "
                        "database from clearing up",
                        "GRANT pg_read_all_stats to it"});
  }
  return {};
}

Status PostgresDoctor::look_last(sql::Session& session, const Schema& schema, Findings& findings) {
  findings.push_back(
      {Severity::info, "how much room the server's disk has cannot be asked in SQL",
       "watch it where the server runs; a full disk shows as writes and results that "
       "are not taken: /health/ready is 503"});
  if (!schema.missing.empty()) return {};
  if (auto added = add_holders(session, findings); !added.ok()) return added;
  for (const auto& table : schema.tables) {
    if (auto added = add_leftovers(session, table, findings); !added.ok()) return added;
  }
  return add_rights(session, findings);
}

}  // namespace sagabox::postgres
