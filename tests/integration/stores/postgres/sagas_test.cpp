#include "integration/stores/postgres/kept_plans.hpp"
#include "integration/stores/postgres/world.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace sagabox::postgres {
namespace {

using sagabox::testing::run_sql;

/// Sagas as SQL users meet them.
class PostgresSagas : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open(database_->url(), database_->options()).value();
    store_->sagas()->prepare().value();
    user_ = database_->connect();
    sql("SET search_path = " + database_->schema());
  }
  std::vector<std::string> sql(const std::string& text) { return run_sql(user_.get(), text); }
  std::string one(const std::string& text) { return sql(text).at(0); }
  std::vector<SagaCommand> inbox(std::string_view definition = "travel") {
    std::vector<spi::SagaInboxRange> ranges;
    for (std::uint16_t s = 0; s < 16; ++s) ranges.push_back({Shard{s}, {}, 1000});
    auto rows = store_->sagas()->read_inbox(definition, ranges, 1'000'000).value().rows;
    std::ranges::sort(rows, {}, &SagaCommand::sequence);
    return rows;
  }
  std::string plan(const std::string& query) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(user_.get(), ("EXPLAIN " + query).c_str()), &PQclear);
    std::string lines = PQresultErrorMessage(result.get());
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      lines += std::string(PQgetvalue(result.get(), row, 0)) + '\n';
    }
    return lines;
  }

  std::unique_ptr<Store> store_;
  sagabox::testing::PgConnection user_;
};

TEST_F(PostgresSagas, KeyedStartHasTheIdThatTheLibraryDerives) {
  const auto id = one(R"(SELECT start_saga('travel', '{"city":"Köln"}', key => 'trip-77',
                        tenant => 'acme', labels => '{"order":"77"}',
                        timeout => interval '1.5 s'))");
  EXPECT_EQ(id, saga_id_of("acme", "travel", "trip-77").view());
  const auto rows = inbox();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].saga.view(), id);
  EXPECT_EQ(rows[0].tenant, "acme");
  EXPECT_EQ(rows[0].kind, SagaCommandKind::start);
  EXPECT_EQ(one("SELECT '" + rows[0].body +
                R"('::jsonb = '{"input":{"city":"Köln"},"key":"trip-77","labels":{"order":"77"},)"
                R"("timeout_ms":1500}')"),
            "t")
      << rows[0].body;
}

TEST_F(PostgresSagas, StartIsOneWithTheTransactionOfTheCaller) {
  sql("BEGIN; SELECT start_saga('travel', '{}')");
  EXPECT_TRUE(inbox().empty());
  sql("ROLLBACK");
  EXPECT_TRUE(inbox().empty());
  const auto first = one("SELECT start_saga('travel', '{}')");
  EXPECT_NE(one("SELECT start_saga('travel', '{}')"), first) << "without a key it is another saga";
  EXPECT_EQ(inbox().size(), 2U);
  EXPECT_EQ(inbox()[0].body, R"({"input": {}})");
}

TEST_F(PostgresSagas, WrongArgumentsAreRefused) {
  for (const auto* call :
       {"start_saga('', '{}')", "start_saga(NULL, '{}')", "start_saga('travel', '{')",
        "start_saga('travel', '{}', key => '')", "start_saga('travel', '{}', tenant => '')",
        "start_saga('travel', '{}', key => E'a\\nb')",
        "start_saga('travel', '{}', labels => '[1]')",
        "start_saga('travel', '{}', labels => '{\"a\":1}')",
        "start_saga('travel', '{}', timeout => interval '0')",
        "start_saga('travel', to_jsonb(repeat('x', 300000)))", "signal_saga('nobody', 'paid')",
        "reply_to_saga('nobody', 'book', definition => 'travel', result => 'maybe')",
        "reply_to_saga('nobody', 'book', definition => 'travel', direction => 'up')"}) {
    EXPECT_THROW(sql(std::string("SELECT ") + call), std::runtime_error) << call;
  }
  EXPECT_TRUE(inbox().empty());
}

TEST_F(PostgresSagas, CommandsReachASagaThatIsYetToBeTakenUp) {
  const auto id = one("SELECT start_saga('travel', '{}', key => 'k')");
  EXPECT_THROW(sql("SELECT signal_saga('" + id + "', 'paid', tenant => 'umbrella')"),
               std::runtime_error)
      << "of another tenant";
  const auto signal = one("SELECT signal_saga('" + id + "', 'paid', '{\"amount\":5}')");
  sql("SELECT reply_to_saga('" + id + "', 'book', output => '{\"seat\":\"1A\"}')");
  sql("SELECT cancel_saga('" + id + "', 'changed their mind')");
  const auto rows = inbox();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[1].id.view(), signal);
  EXPECT_EQ(rows[1].kind, SagaCommandKind::signal);
  EXPECT_EQ(rows[1].body, R"({"name": "paid", "payload": {"amount": 5}})");
  EXPECT_EQ(rows[2].kind, SagaCommandKind::reply);
  EXPECT_EQ(rows[2].body,
            R"({"step": "book", "output": {"seat": "1A"}, "result": "ok", "direction": "action"})");
  EXPECT_EQ(rows[3].kind, SagaCommandKind::cancel);
  EXPECT_EQ(rows[3].body, R"({"note": "changed their mind"})");
  for (const auto& row : rows) {
    EXPECT_EQ(row.saga.view(), id);
    EXPECT_EQ(row.shard, rows[0].shard);
  }
  sql("SELECT signal_saga('later', 'paid', definition => 'refund')");
  EXPECT_EQ(inbox("refund").size(), 1U);
}

TEST_F(PostgresSagas, ExecuteIsAllThatACallerNeeds) {
  const auto role = database_->schema() + "_starter";
  database_->sql("CREATE ROLE " + role + " LOGIN");
  database_->sql("GRANT USAGE ON SCHEMA " + database_->schema() + " TO " + role);
  const auto as_role = [&](const std::string& text) {
    sql("SET ROLE " + role);
    try {
      sql(text);
    } catch (const std::runtime_error&) {
      sql("RESET ROLE");
      return false;
    }
    sql("RESET ROLE");
    return true;
  };
  EXPECT_FALSE(as_role("SELECT start_saga('travel', '{}')"));
  database_->sql("GRANT EXECUTE ON FUNCTION " + in_schema("start_saga") + " TO " + role);
  EXPECT_TRUE(as_role("SELECT start_saga('travel', '{}')"));
  EXPECT_FALSE(as_role("SELECT * FROM saga_inbox"));
  EXPECT_FALSE(as_role("SELECT send_to_saga('x', 'cancel', '{}', 'default', 'travel')"));
  database_->sql("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresSagas, TablesOfOtherShardsAreRefused) {
  auto options = database_->options();
  options.shards = 8;
  const auto other = open(database_->url(), options).value();
  EXPECT_EQ(other->sagas()->prepare().error().code, Code::config_invalid);
}

TEST_F(PostgresSagas, MigrateDownRefusesWhileSagasAreActive) {
  sql("INSERT INTO saga (id, tenant, definition, definition_version, state, quarantined, version, "
      "key, isolate, started_at, changed_at, body) VALUES ('s1', 'acme', 'travel', 1, 'paused', "
      "false, 1, '', '', now(), now(), '{}')");
  const spi::SchemaDown everything{.engine = "saga", .to = 0};
  EXPECT_EQ(schema()->down(everything).error().code, Code::tx_invalid_state);
  sql("UPDATE saga SET state = 'failed'");
  schema()->down(everything).value();
  EXPECT_THROW(sql("SELECT * FROM saga"), std::runtime_error);
}

TEST_F(PostgresSagas, SagasThatWereThereBeforeTheirWaitsWereStoredKeepTheirs) {
  schema()->down({.engine = "saga", .to = 1}).value();
  sql("INSERT INTO saga (id, tenant, definition, definition_version, state, quarantined, version, "
      "due, key, isolate, started_at, changed_at, body) VALUES "
      "('held', 'acme', 'travel', 1, 'running', false, 1, NULL, '', '', now(), now(), "
      "'{\"steps\":[{\"state\":\"held\"}]}'), "
      "('late', 'acme', 'travel', 1, 'running', false, 1, now() - interval '1 hour', '', '', "
      "now(), now(), '{\"steps\":[{\"state\":\"retrying\"}]}')");
  store_->sagas()->prepare().value();
  const auto backlog = store_->saga_admin()->backlog("travel").value();
  EXPECT_EQ(backlog.wait_for_decision, 1U);
  EXPECT_TRUE(backlog.overdue_since);
}

TEST_F(PostgresSagas, OwnersFindTheirRowsByIndexes) {
  sql("INSERT INTO saga (id, tenant, definition, definition_version, state, quarantined, version, "
      "due, key, isolate, started_at, changed_at, body) SELECT 's' || n, 'acme', 'travel', 1, "
      "CASE WHEN n % 10 = 0 THEN 'running' ELSE 'completed' END, false, 1, now(), '', '', now(), "
      "now(), '{}' FROM generate_series(1, 20000) AS n");
  sql("INSERT INTO saga_inbox (saga, definition) SELECT 's' || n, 'travel' "
      "FROM generate_series(1, 20000) AS n");
  sql("INSERT INTO saga_label SELECT 'order', n::text, 's' || n FROM generate_series(1, 20000) n");
  sql("ANALYZE saga, saga_inbox, saga_label");
  const auto uses = [&](const std::string& index, const std::string& query) {
    const auto lines = plan(query);
    EXPECT_NE(lines.find(index), std::string::npos) << lines;
    EXPECT_EQ(lines.find("Seq Scan"), std::string::npos) << lines;
  };
  const std::string load_due =
      "SELECT * FROM saga WHERE definition = 'travel' AND shard = 3::int2 "
      "AND (due, id) > (now() - interval '1 day', '') AND due <= (SELECT clock_timestamp()) "
      "AND due IS NOT NULL AND state IN ('running', 'compensating', 'paused') "
      "ORDER BY due, id LIMIT 100";
  uses("saga_due", load_due);
  const auto due_plan = plan(load_due);
  const auto condition = due_plan.substr(std::min(due_plan.find("Index Cond:"), due_plan.size()));
  EXPECT_NE(condition.substr(0, condition.find('\n')).find("(due <= "), std::string::npos)
      << due_plan;
  uses("saga_inbox_pkey",
       "SELECT * FROM saga_inbox WHERE definition = 'travel' AND shard = 3::int2 AND seq > 10 "
       "ORDER BY seq LIMIT 100");
  uses("saga_label_pkey",
       "SELECT s.id FROM saga_label AS l JOIN saga AS s ON s.id = l.saga WHERE l.name = 'order' "
       "AND l.value = '77' AND l.saga > '' ORDER BY l.saga LIMIT 100");
  uses("saga_inbox_saga", "SELECT * FROM saga_inbox WHERE saga = 's77' ORDER BY seq LIMIT 100");
  // What gauges are made of.
  uses("saga_active",
       "SELECT count(*) FROM (SELECT 1 FROM saga WHERE definition = 'travel' "
       "AND state = 'running' LIMIT 1000000) AS running");
  uses("saga_active",
       "SELECT min(started_at) FROM saga WHERE definition = 'travel' AND state = 'compensating'");
  uses("saga_dead",
       "SELECT count(*) FROM (SELECT 1 FROM saga WHERE definition = 'travel' AND state = 'failed' "
       "AND NOT quarantined LIMIT 1000000) AS dead");
  uses("saga_person",
       "SELECT count(*) FROM (SELECT 1 FROM saga WHERE definition = 'travel' "
       "AND person = 'decision' AND person <> '' "
       "AND state IN ('running', 'compensating', 'paused') LIMIT 1000000) AS decision");
}

// Statements of owners are prepared while the tables are empty, and their plans stay.
TEST_F(PostgresSagas, PlansOfEmptyTablesUseTheirIndexes) {
  constexpr std::array statements{
      KeptStatement{"saga_read_inbox", "text, bigint[], bigint[], bigint[], bigint",
                    "'travel', '{1}', '{0}', '{10}', 1000"},
      KeptStatement{"saga_load", "text[]", "'{s1}'"},
      KeptStatement{"saga_load_due", "text, bigint, timestamptz, text, bigint, timestamptz",
                    "'travel', 1, now(), '', 10, NULL"},
      KeptStatement{"saga_results", "text[]", "'{c1}'"},
      KeptStatement{"saga_hold", "text, text, bigint[], bigint[]", "'saga:x', 'me', '{1}', '{1}'"},
      KeptStatement{"saga_versions", "text[]", "'{s1}'"},
      KeptStatement{"saga_holders", "text, text[], text[]", "'travel', '{acme}', '{k}'"},
      KeptStatement{"saga_pending", "text, bigint", "'s1', 100"},
      KeptStatement{"saga_without_due", "text, text, bigint", "'travel', '', 100"},
      KeptStatement{"saga_cut_history", "text[], bigint[], bigint", "'{s1}', '{5}', 100"},
      KeptStatement{"saga_take", "text, bigint[], bigint[]", "'travel', '{1}', '{1}'"},
  };
  for (const auto* table : {"saga", "saga_inbox", "saga_history", "saga_command", "shard_owner"}) {
    database_->sql("VACUUM " + in_schema(table));
  }
  expect_kept_plans_use_indexes(settings(), database_->schema(), statements);
}

}  // namespace
}  // namespace sagabox::postgres
