#include "integration/stores/sqlite/world.hpp"
#include "stores/sqlite/sql_files.hpp"

#include <string>
#include <vector>

namespace sagabox::sqlite {
namespace {

class SqliteHubSchema : public SqliteTest {
 protected:
  std::string hub_objects() { return count("sqlite_schema WHERE name LIKE 'sagabox_hub%'"); }

  /// One line a step, as the shell shows them; of every statement of a section.
  std::string plan(const std::string& section) {
    auto sections = sql::Sections::parse(sql_files).value();
    std::string text;
    const auto statement = sections.take(section);
    const auto user = connect();
    for (const auto& part : statement.parts()) {
      const auto rows = sagabox::testing::rows_of(user.get(), "EXPLAIN QUERY PLAN " + part.sql);
      for (const auto& row : rows) text += row.at(3) + "\n";
    }
    return text;
  }
};

TEST_F(SqliteHubSchema, IsMadeByTheHubAloneAndRemovedAsAWhole) {
  const auto store = open_store();
  EXPECT_EQ(hub_objects(), "0");
  for (const auto& step : schema()->status().value()) EXPECT_NE(step.engine, spi::hub_engine);
  store->hub()->events.prepare().value();
  store->hub()->events.prepare().value();
  EXPECT_NE(hub_objects(), "0");
  schema()->down({.engine = std::string(spi::hub_engine), .to = 0}).value();
  EXPECT_EQ(hub_objects(), "0");
  store->hub()->events.prepare().value();
  EXPECT_TRUE(store->hub()->admin.deliveries({}).value().empty());
}

TEST_F(SqliteHubSchema, StatementsThatRunAllDaySearch) {
  const auto store = open_store();
  store->hub()->events.prepare().value();
  for (const auto* section :
       {"hub_publish",       "hub_known",         "hub_read",
        "hub_positions",     "hub_move",          "hub_changed",
        "hub_add",           "hub_open",          "hub_due",
        "hub_in_progress",   "hub_begin",         "hub_change",
        "hub_doomed",        "hub_end_unsent",    "hub_bury",
        "hub_make_jobs",     "hub_without_job",   "hub_ended",
        "hub_seen",          "hub_finish",        "hub_lost",
        "hub_reset",         "hub_deliveries_of", "hub_deliveries_about",
        "hub_attempts",      "hub_old_jobs",      "hub_old_events",
        "hub_old_dead",      "hub_deliveries_in", "hub_subscription_count",
        "hub_failing_since", "hub_unrouted",      "hub_subscription_list_in"}) {
    const auto text = plan(section);
    for (const auto* table : {"sagabox_hub", "d", "e", "i", "j", "n", "s"}) {
      EXPECT_EQ((text + "\n").find("SCAN " + std::string(table) + "\n"), std::string::npos)
          << section << "\n"
          << text;
    }
    EXPECT_EQ(text.find("SCAN sagabox_hub"), std::string::npos) << section << "\n" << text;
    EXPECT_EQ(text.find("AUTOMATIC"), std::string::npos) << section << "\n" << text;
  }
  const auto uses = [&](const std::string& section, const std::string& index) {
    EXPECT_NE(plan(section).find("INDEX " + index), std::string::npos) << plan(section);
  };
  uses("hub_due", "sagabox_hub_delivery_pending");
  uses("hub_open", "sagabox_hub_delivery_pending");
  uses("hub_in_progress", "sagabox_hub_delivery_in_progress");
  uses("hub_begin", "sagabox_hub_delivery_key");
  uses("hub_change", "sagabox_hub_delivery_key");
  uses("hub_doomed", "sagabox_hub_delivery_waiting");
  uses("hub_doomed", "sagabox_hub_delivery_pending");
  EXPECT_EQ(plan("hub_doomed").find("TEMP B-TREE"), std::string::npos) << plan("hub_doomed");
  uses("hub_release_strays", "sagabox_hub_delivery_waiting");
  uses("hub_waiting_page", "sagabox_hub_delivery_waiting");
  for (const auto* const section : {"hub_release_strays", "hub_waiting_page"}) {
    EXPECT_EQ(plan(section).find("TEMP B-TREE"), std::string::npos) << plan(section);
  }
  uses("hub_ended", "sagabox_hub_job_unseen");
  uses("hub_lease", "sagabox_hub_job_pending");
  uses("hub_lease", "sagabox_hub_job_token");
  uses("hub_lost", "sagabox_hub_job_leased");
  uses("hub_health", "sagabox_hub_job_of (subscription=? AND state=? AND ended_at>?)");
  uses("hub_stats", "sagabox_hub_delivery_pending");
  uses("hub_stats", "sagabox_hub_delivery_waiting");
  uses("hub_stats", "sagabox_hub_delivery_in_progress");
  uses("hub_stats", "sagabox_hub_delivery_dead");
  for (const auto* const section : {"hub_count", "hub_count_of", "hub_stats"}) {
    EXPECT_EQ(plan(section).find("sagabox_hub_delivery_of "), std::string::npos) << plan(section);
    EXPECT_EQ(plan(section).find("FOR ORDER BY"), std::string::npos) << plan(section);
  }
  uses("hub_count", "sagabox_hub_delivery_dead_of");
  uses("hub_deliveries_dead", "sagabox_hub_delivery_dead_seq");
  uses("hub_deliveries_of_dead", "sagabox_hub_delivery_dead_of");
  uses("hub_deliveries_in_dead", "sagabox_hub_delivery_dead_of");
  uses("hub_events_external",
       "sagabox_hub_event_external (tenant=? AND source=? AND external_id=?)");
  uses("hub_drop_secrets", "sagabox_hub_secret_expires");
  uses("hub_deliveries_in", "sagabox_hub_subscription_tenant");
  uses("hub_deliveries_in", "sagabox_hub_delivery_of");
  uses("hub_subscription_count", "sagabox_hub_subscription_tenant");
  uses("hub_subscription_list_in", "sagabox_hub_subscription_tenant");
}

}  // namespace
}  // namespace sagabox::sqlite
