#include "integration/stores/postgres/world.hpp"
#include "stores/postgres/driver/context.hpp"
#include "stores/postgres/sql_files.hpp"
#include "stores/sql/statement.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace sagabox::postgres {
namespace {

using sagabox::testing::run_sql;

/// Of statements that run all day. A plan that is kept may have been made at any time.
class PostgresHubPlans : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open(database_->url(), database_->options()).value();
    store_->hub()->events.prepare().value();
  }
  /// Of every part of a section, on a connection like those of the hub, which has planned nothing
  /// yet.
  std::string plan(const std::string& section) {
    auto sections = sql::Sections::parse(sql_files, database_->schema()).value();
    const auto statement = sections.take(section);
    auto connection = Connection::open(Context::for_hub(settings())).value();
    connection->script("SET plan_cache_mode = force_generic_plan").value();
    // A cache in front of a look changes nothing about the look. Servers before 14 have none.
    connection
        ->script(
            "SELECT set_config(name, 'off', false) FROM pg_settings "
            "WHERE name = 'enable_memoize'")
        .value();
    std::string text;
    int number = 0;
    for (const auto& part : statement.parts()) {
      const auto name = "p" + std::to_string(++number);
      connection->script("PREPARE " + name + parameters(part.sql) + " AS " + part.sql).value();
      text += explained(*connection, name + nulls(part.sql));
    }
    return text;
  }
  /// Walks and looks that no statement of all day may need.
  static void expect_looks_only(const std::string& section, const std::string& lines) {
    static const std::regex allowed("Seq Scan on (hub_counter|hub_setting)\\b");
    const auto rest = std::regex_replace(lines, allowed, "");
    EXPECT_EQ(rest.find("Seq Scan"), std::string::npos) << section << "\n" << lines;
    EXPECT_EQ(rest.find("Bitmap"), std::string::npos) << section << "\n" << lines;
    EXPECT_EQ(rest.find("Hash"), std::string::npos) << section << "\n" << lines;
    EXPECT_EQ(rest.find("Merge Join"), std::string::npos) << section << "\n" << lines;
  }
  void run(std::string text) {
    for (auto at = text.find("{s}"); at != std::string::npos; at = text.find("{s}")) {
      text.replace(at, 3, database_->schema());
    }
    database_->sql(text);
  }
  void vacuum(const std::string& options) {
    run("VACUUM (" + options +
        ") {s}.hub_event, {s}.hub_delivery, {s}.hub_job, {s}.hub_dead, "
        "{s}.hub_subscription, {s}.hub_secret, {s}.hub_position, {s}.shard_owner");
  }
  void fill() {
    run("INSERT INTO {s}.hub_event (id, tenant, source, external_id, type, key, is_json, digest, "
        "aggregate_type, aggregate_id, priority, content_type, headers, occurred_at, traceparent, "
        "tracestate, request_id, correlation_id, payload) SELECT 'e' || n, 'default', 'shop', "
        "'x' || n, 't', '', true, '', 'g', '', 1, '', '', now(), '', '', '', '', '{}' "
        "FROM generate_series(1, 30000) AS n");
    run("INSERT INTO {s}.hub_delivery (id, event, subscription, generation, tenant, type, key, "
        "shard, state, next_attempt_at, created_at, ended_at, correlation_id) SELECT 'd' || "
        "md5(n::text), 'e' || n, 's' || n % 100, 0, 'default', 't', CASE WHEN n % 70 = 0 THEN 'k' "
        "|| n WHEN n % 10 = 0 THEN 'k' || n % 1000 ELSE '' END, n % 100 % 16, "
        "(ARRAY['in_progress', 'pending', 'waiting', "
        "'dead', 'completed', 'completed', 'completed'])[1 + n % 7], now(), now(), now(), '' "
        "FROM generate_series(1, 30000) AS n");
    run("INSERT INTO {s}.hub_job (delivery, attempt, shard, subscription, state, lease_until, "
        "ended_at, seen) SELECT id, 1, shard, subscription, (ARRAY['pending', 'leased', "
        "'completed'])[1 + seq % 3], now(), CASE WHEN seq % 3 = 2 THEN now() END, seq % 6 = 2 "
        "FROM {s}.hub_delivery");
  }

  std::unique_ptr<Store> store_;

 private:
  static int last_parameter(const std::string& sql) {
    int last = 0;
    static const std::regex parameter("\\$([0-9]+)");
    for (std::sregex_iterator at(sql.begin(), sql.end(), parameter), end; at != end; ++at) {
      last = std::max(last, std::stoi((*at)[1].str()));
    }
    return last;
  }
  /// The server infers the type of what is used, and must be told one for the rest.
  static std::string parameters(const std::string& sql) {
    std::string types;
    for (int n = 1; n <= last_parameter(sql); ++n) {
      const std::regex used("\\$" + std::to_string(n) + "(?![0-9])");
      types +=
          (n == 1 ? "" : ", ") + std::string(std::regex_search(sql, used) ? "unknown" : "text");
    }
    return types.empty() ? "" : " (" + types + ")";
  }
  static std::string nulls(const std::string& sql) {
    std::string values;
    for (int n = last_parameter(sql); n > 0; --n) values += values.empty() ? "NULL" : ", NULL";
    return values.empty() ? "" : "(" + values + ")";
  }
  static std::string explained(Connection& connection, const std::string& call) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection.handle(), ("EXPLAIN (COSTS OFF) EXECUTE " + call).c_str()), &PQclear);
    std::string lines = PQresultErrorMessage(result.get());
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      lines += std::string(PQgetvalue(result.get(), row, 0)) + '\n';
    }
    return lines;
  }
};

TEST_F(PostgresHubPlans, AreTheSameAtAnyTime) {
  const std::array all_day{"hub_publish",       "hub_known",          "hub_read",
                           "hub_unseen",        "hub_move",           "hub_changed",
                           "hub_add",           "hub_open",           "hub_due",
                           "hub_in_progress",   "hub_begin",          "hub_change",
                           "hub_end_unsent",    "hub_doomed",         "hub_bury",
                           "hub_disable",       "hub_make_jobs",      "hub_without_job",
                           "hub_ended",         "hub_seen",           "hub_lease",
                           "hub_finish",        "hub_lost",           "hub_reset",
                           "hub_secrets",       "hub_dead",           "hub_generations",
                           "hub_requeue",       "hub_release_strays", "hub_deliveries_in",
                           "hub_waiting_page",  "hub_stats",          "hub_unrouted",
                           "hub_failing_since", "hub_named",          "hub_count_of"};
  std::map<std::string, std::string> first;
  for (const std::string section : all_day) {
    first[section] = plan(section);
    EXPECT_EQ(first[section].find("ERROR"), std::string::npos) << first[section];
    expect_looks_only(section, first[section]);
  }
  const auto still = [&](const std::string& when) {
    for (const auto& [section, lines] : first) EXPECT_EQ(plan(section), lines) << when;
  };
  vacuum("ANALYZE");
  still("vacuumed while empty");
  fill();
  still("filled since");
  vacuum("ANALYZE");
  still("full and vacuumed");
  run("DELETE FROM {s}.hub_job; DELETE FROM {s}.hub_delivery; DELETE FROM {s}.hub_event");
  run("INSERT INTO {s}.hub_job (delivery, attempt, shard, subscription) VALUES ('z', 1, 1, 's')");
  vacuum("ANALYZE, TRUNCATE off");
  still("emptied and vacuumed");
}

TEST_F(PostgresHubPlans, UseTheIndexesThatAreMadeForThem) {
  const auto uses = [&](const std::string& section, const std::string& index) {
    EXPECT_NE(plan(section).find(index), std::string::npos) << plan(section);
  };
  uses("hub_due", "hub_delivery_pending");
  uses("hub_due", "(next_attempt_at <= ");
  uses("hub_open", "hub_delivery_pending");
  uses("hub_in_progress", "hub_delivery_in_progress");
  uses("hub_begin", "hub_delivery_key ");
  uses("hub_begin", "hub_delivery_key_in_progress");
  uses("hub_release_strays", "hub_delivery_key_in_progress");
  uses("hub_change", "hub_delivery_key");
  uses("hub_doomed", "hub_delivery_waiting");
  uses("hub_doomed", "hub_delivery_pending");
  EXPECT_EQ(plan("hub_doomed").find("Sort"), std::string::npos) << plan("hub_doomed");
  uses("hub_release_strays", "hub_delivery_waiting");
  uses("hub_waiting_page", "hub_delivery_waiting");
  for (const auto* const section : {"hub_release_strays", "hub_waiting_page", "hub_due"}) {
    EXPECT_EQ(plan(section).find("Sort"), std::string::npos) << plan(section);
  }
  uses("hub_ended", "hub_job_unseen");
  uses("hub_lease", "hub_job_pending");
  uses("hub_lost", "hub_job_leased");
  uses("hub_lost", "(lease_until <= ");
  uses("hub_old_deliveries", "hub_delivery_completed");
  uses("hub_old_dead", "hub_delivery_dead");
  uses("hub_old_jobs", "hub_job_seen");
  uses("hub_old_jobs", "(ended_at >= ");
  uses("hub_old_events", "hub_event_pkey");
  uses("hub_old_events", "(seq > ");
  uses("hub_drop_events", "hub_event_id");
  uses("hub_health", "hub_job_of");
  uses("hub_health", "state = 'failed'");
  uses("hub_failing_since", "hub_job_of");
  uses("hub_failing_since", "state = 'completed'");
  EXPECT_EQ(plan("hub_failing_since").find("Sort"), std::string::npos) << plan("hub_failing_since");
  uses("hub_stats", "hub_delivery_pending");
  uses("hub_stats", "hub_delivery_waiting");
  uses("hub_stats", "hub_delivery_in_progress");
  uses("hub_stats", "hub_delivery_dead");
  uses("hub_unrouted", "hub_event_pkey");
  for (const auto* const section : {"hub_stats", "hub_unrouted"}) {
    EXPECT_EQ(plan(section).find("Sort"), std::string::npos) << plan(section);
  }
  uses("hub_count", "hub_delivery_dead_of");
  uses("hub_count_of", "hub_delivery_dead_of");
  uses("hub_deliveries_dead", "hub_delivery_dead_seq");
  uses("hub_deliveries_of_dead", "hub_delivery_dead_of");
  uses("hub_deliveries_in_dead", "hub_delivery_dead_of");
  uses("hub_events_external", "hub_event_external");
  uses("hub_events_external", "external_id = ");
  uses("hub_drop_secrets", "hub_secret_expires");
  uses("hub_deliveries_in", "hub_subscription_tenant");
  uses("hub_deliveries_in", "hub_delivery_of");
  uses("hub_subscription_count", "hub_subscription_tenant");
  uses("hub_subscription_list_in", "hub_subscription_tenant");
  EXPECT_EQ(plan("hub_subscription_list_in").find("Sort"), std::string::npos)
      << plan("hub_subscription_list_in");
}

TEST(PostgresHubStatements, WaitForTheDiskUnlessTheyMayBeRepeated) {
  std::set<std::string> quick;
  for (const auto& file : sql_files) {
    if (file.name.find("hub") == std::string_view::npos) continue;
    std::string section;
    std::istringstream lines{std::string(file.text)};
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("-- name: ")) section = line.substr(std::string("-- name: ").size());
      if (line.find("synchronous_commit") != std::string::npos) quick.insert(section);
    }
  }
  EXPECT_EQ(quick, (std::set<std::string>{"hub_begin", "hub_lease", "hub_make_jobs"}));
}

}  // namespace
}  // namespace sagabox::postgres
