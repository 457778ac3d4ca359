#include "integration/stores/postgres/world.hpp"
#include "support/places.hpp"

#include <fstream>
#include <map>

namespace sagabox::postgres {
namespace {

using sagabox::testing::PgConnection;
using sagabox::testing::run_sql;

constexpr auto refused = "42501";       // insufficient_privilege
constexpr auto not_a_choice = "428C9";  // generated_always
constexpr auto old_producer_grants =    // as they were documented before there were others
    "GRANT USAGE ON SCHEMA {schema} TO {role}; "
    "GRANT INSERT, SELECT, DELETE ON {schema}.orders_outbox TO {role}; "
    "GRANT SELECT ON {schema}.orders_dead, {schema}.orders_archive TO {role}; "
    "GRANT USAGE ON SEQUENCE {schema}.orders_seq, {schema}.orders_flags TO {role}";

std::string with(std::string text, const std::string& what, const std::string& value) {
  for (auto at = text.find(what); at != std::string::npos;
       at = text.find(what, at + value.size())) {
    text.replace(at, what.size(), value);
  }
  return text;
}

/// The SQL blocks of the page's section on rights, by the role that they are for.
std::map<std::string, std::string> documented_grants() {
  std::ifstream file(testing::project_folder() / "docs/stores/postgres-contract.md");
  std::map<std::string, std::string> grants;
  bool in_section = false;
  bool in_block = false;
  std::string block;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) in_section = line == "## Rights";
    if (!in_section) continue;
    if (in_block && line == "```") {
      const auto at = block.find(" TO ") + 4;
      const auto role = block.substr(at, block.find_first_of(";\n", at) - at);
      grants[role] += block;
      block.clear();
      in_block = false;
    } else if (line == "```sql") {
      in_block = true;
    } else if (in_block) {
      block += line + "\n";
    }
  }
  return grants;
}

class PostgresRights : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_store();
  }
  void TearDown() override {
    store_.reset();
    for (const auto& role : roles_) {
      database_->sql("DROP OWNED BY " + role + "; DROP ROLE " + role);
    }
  }
  std::string make_role(const std::string& name) {
    roles_.push_back(database_->schema() + "_" + name);
    database_->sql("CREATE ROLE " + roles_.back() + " LOGIN");
    return roles_.back();
  }
  /// A role with what the documentation grants to one of this name, and nothing more.
  std::string documented_role(const std::string& name) {
    const auto role = make_role(name);
    const auto grants = documented_grants().at(name);
    database_->sql(
        with(with(grants, " TO " + name, " TO " + role), "sagabox", database_->schema()));
    return role;
  }
  PgConnection connect_as(const std::string& role) {
    auto connection = PgConnection(PQconnectdb((database_->url() + " user=" + role).c_str()));
    EXPECT_EQ(PQstatus(connection.get()), CONNECTION_OK) << PQerrorMessage(connection.get());
    return connection;
  }
  /// Its SQLSTATE; empty when it worked. {s} stands for the schema.
  std::string outcome(PGconn* connection, const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection, with(sql, "{s}", database_->schema()).c_str()), &PQclear);
    const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    return state == nullptr ? "" : state;
  }
  void works(PGconn* connection, const std::string& sql) {
    EXPECT_EQ(outcome(connection, sql), "") << sql << ": " << PQerrorMessage(connection);
  }
  /// What nobody may do but relays and operators.
  void may_not_look_or_act(PGconn* connection) {
    for (const std::string sql :
         {"SELECT * FROM {s}.orders_outbox",
          "SELECT payload FROM {s}.orders_outbox",
          "SELECT count(*) FROM {s}.orders_outbox",
          "SELECT * FROM {s}.orders_messages",
          "SELECT * FROM {s}.orders_dead",
          "SELECT * FROM {s}.orders_archive",
          "SELECT * FROM {s}.audit_log",
          "DELETE FROM {s}.orders_outbox",
          "DELETE FROM {s}.orders_outbox WHERE seq = 1",
          "UPDATE {s}.orders_outbox SET topic = 'x'",
          "TRUNCATE {s}.orders_outbox",
          "INSERT INTO {s}.orders_dead (seq) VALUES (1)",
          "SELECT nextval('{s}.orders_seq')",
          "SELECT setval('{s}.orders_seq', 9223372036854775807)",
          "SELECT setval('{s}.orders_flags', 1)",
          "SELECT nextval('{s}.orders_flags')",
          "INSERT INTO {s}.orders_outbox (seq, topic, payload) OVERRIDING SYSTEM VALUE "
          "VALUES (9223372036854775807, 't', '{}')",
          "INSERT INTO {s}.orders_outbox (topic, payload, attempts) VALUES ('t', '{}', 5)",
          "INSERT INTO {s}.orders_outbox (topic, payload, xid) VALUES ('t', '{}', '3')",
          "INSERT INTO {s}.orders_outbox (topic, payload, history) VALUES ('t', '{}', '1')",
          "INSERT INTO {s}.orders_outbox (topic, payload, retrying) VALUES ('t', '{}', true)",
          "INSERT INTO {s}.orders_outbox (topic, payload, digest) VALUES ('t', '{}', '')",
          "SELECT {s}.archive_ahead('orders', 3)",
          "SELECT {s}.take_sleeper()",
          "SELECT {s}.set_asleep('{s}.orders_flags', 0, true)",
          "SELECT {s}.make_enqueue()",
          "SELECT {s}.watch_table('{s}.worker', 't')",
          "SELECT {s}.orders_first('a', 'b', 1)",
          "SELECT {s}.orders_undo('{1}')",
          "UPDATE {s}.shard_owner SET epoch = 0",
          "INSERT INTO {s}.pause VALUES ('orders')"}) {
      EXPECT_EQ(outcome(connection, sql), refused) << sql;
    }
    EXPECT_EQ(outcome(connection,
                      "INSERT INTO {s}.orders_outbox (seq, topic, payload) VALUES "
                      "(9223372036854775807, 't', '{}')"),
              not_a_choice);
  }

  std::unique_ptr<Store> store_;
  std::vector<std::string> roles_;
};

TEST_F(PostgresRights, ProducerNeedsExecuteOnEnqueueOnly) {
  const auto connection = connect_as(documented_role("shop"));
  const auto enqueue = [&](const std::string& arguments) {
    works(connection.get(), "SELECT {s}.enqueue(" + arguments + ", outbox => 'orders')");
  };
  enqueue("'t', '{}'");
  enqueue("'t', '{}'::json");
  enqueue("'t', '{}'::jsonb, tenant => 'acme', delay => '1 hour'");
  enqueue("'t', '\\x00'::bytea, headers => '{\"a\":\"b\"}'");
  enqueue("'t', '{}', id => 'mine'");
  EXPECT_EQ(run_sql(connection.get(), "SELECT duplicate FROM " +
                                          in_schema("enqueue('t', '{}', id => 'mine', outbox => "
                                                    "'orders')")),
            std::vector<std::string>{"t"});
  EXPECT_EQ(count("orders_outbox"), "5");

  may_not_look_or_act(connection.get());
  EXPECT_EQ(outcome(connection.get(),
                    "INSERT INTO {s}.orders_outbox (topic, payload) VALUES ('t', '{}')"),
            refused);
  EXPECT_EQ(count("orders_outbox"), "5");
}

TEST_F(PostgresRights, ProducerInsertsIntoColumnsOfItsOwn) {
  const auto connection = connect_as(documented_role("shop_insert"));
  works(connection.get(), "INSERT INTO {s}.orders_outbox (topic, payload) VALUES ('t', '{}')");
  works(
      connection.get(),
      "INSERT INTO {s}.orders_outbox (id, tenant, topic, aggregate_type, aggregate_id, key, "
      "priority, payload, is_json, content_type, headers, occurred_at, traceparent, tracestate, "
      "request_id, correlation_id) VALUES ('mine', 'acme', 't', 'a', '1', 'k', 0, '\\x00', false, "
      "'image/png', '{}', now(), NULL, NULL, 'r', 'c')");
  works(connection.get(),
        "INSERT INTO {s}.orders_outbox (id, tenant, topic, payload) VALUES ('mine', 'acme', 't', "
        "'{}') ON CONFLICT DO NOTHING");
  works(
      connection.get(),
      "INSERT INTO {s}.orders_outbox (topic, payload, not_before, due) VALUES ('t', '{}', now() + "
      "interval '1 hour', now() + interval '1 hour')");
  EXPECT_EQ(count("orders_outbox"), "3");

  may_not_look_or_act(connection.get());
  EXPECT_EQ(outcome(connection.get(), "SELECT {s}.enqueue('t', '{}', outbox => 'orders')"),
            refused);
  EXPECT_EQ(outcome(connection.get(),
                    "INSERT INTO {s}.orders_outbox (topic, payload) VALUES ('t', '{}') "
                    "RETURNING payload"),
            refused);
}

TEST_F(PostgresRights, ProducerWithTheLibraryReadsNoPayload) {
  const auto connection = connect_as(documented_role("shop_library"));
  const auto write = [&](const std::shared_ptr<const Message>& one) {
    run_sql(connection.get(), "BEGIN");
    auto tx = enlist(connection.get(), database_->schema()).value();
    const auto written = tx.outbox().insert(table_, std::span(&one, 1)).value().front();
    run_sql(connection.get(), "COMMIT");
    return written;
  };
  EXPECT_FALSE(write(message()).duplicate);
  EXPECT_FALSE(write(message("mine")).duplicate);
  EXPECT_TRUE(write(message("mine")).duplicate);
  EXPECT_EQ(count("orders_outbox"), "2");

  const std::vector ids{MessageId::parse("mine").value()};
  ASSERT_TRUE(
      store_->outbox_admin()
          .move({.table = table_, .move = spi::Move::quarantine, .ids = ids, .actor = "ann"})
          .ok());
  EXPECT_TRUE(write(message("mine")).duplicate) << "taken back without the right to delete";
  EXPECT_EQ(count("orders_outbox"), "1");

  for (const std::string sql :
       {"SELECT payload FROM {s}.orders_outbox", "SELECT payload FROM {s}.orders_dead",
        "SELECT payload FROM {s}.orders_archive", "SELECT * FROM {s}.orders_messages",
        "DELETE FROM {s}.orders_outbox", "DELETE FROM {s}.orders_outbox WHERE seq = 1",
        "DELETE FROM {s}.orders_dead", "UPDATE {s}.orders_outbox SET topic = 'x'",
        "TRUNCATE {s}.orders_outbox", "SELECT setval('{s}.orders_seq', 1)",
        "SELECT nextval('{s}.orders_seq')", "SELECT {s}.enqueue('t', '{}', outbox => 'orders')",
        "INSERT INTO {s}.orders_outbox (topic, payload, history) VALUES ('t', '{}', '1')",
        "INSERT INTO {s}.orders_outbox (seq, topic, payload) OVERRIDING SYSTEM VALUE "
        "VALUES (9223372036854775807, 't', '{}')"}) {
    EXPECT_EQ(outcome(connection.get(), sql), refused) << sql;
  }
  works(connection.get(), "SELECT {s}.orders_undo((SELECT array_agg(seq) FROM {s}.orders_outbox))");
  EXPECT_EQ(count("orders_outbox"), "1") << "rows of other transactions are not taken back";
}

TEST_F(PostgresRights, RoleThatLooksSeesTheViewOnly) {
  const auto connection = connect_as(documented_role("support"));
  works(connection.get(), "SELECT * FROM {s}.orders_messages");
  EXPECT_EQ(outcome(connection.get(), "SELECT * FROM {s}.orders_outbox"), refused);
  EXPECT_EQ(outcome(connection.get(), "SELECT {s}.enqueue('t', '{}', outbox => 'orders')"),
            refused);
}

/// A store of the role's own, as relays and operators use it.
TEST_F(PostgresRights, RelayDeliversAndOperatesWithTheDocumentedRights) {
  const auto role = documented_role("relay");
  const auto relay = open(database_->url() + " user=" + role, database_->options()).value();
  relay->outbox().prepare(table_).value();
  std::vector<std::shared_ptr<const Message>> both{message("dies"), message("arrives")};
  const auto written =
      relay->transaction([&](OwnedTransaction& tx) { return tx.outbox().insert(table_, both); })
          .value();
  const auto worker = ids_.next<WorkerId>();
  const std::vector scopes{spi::Scope("outbox:orders")};
  auto& ownership = relay->ownership();
  ASSERT_TRUE(ownership.join(worker, std::chrono::seconds(30), scopes, 16).value().live);
  std::vector<spi::Fence> fences;
  for (const auto& shard : ownership.take(scopes[0], worker, 16).value()) {
    fences.push_back({shard.shard, shard.epoch});
  }
  std::vector<spi::Settlement> settlements;
  for (const auto& row : written) {
    spi::Settlement one{.sequence = row.sequence, .shard = row.shard, .id = row.id};
    one.verdict = row.id.view() == "dies" ? spi::Verdict::dead : spi::Verdict::done;
    one.attempts = 1;
    settlements.push_back(one);
  }
  const auto settled = relay->outbox().settle(
      {.table = table_, .fencing = {"outbox:orders", worker, fences}, .items = settlements});
  ASSERT_TRUE(settled.ok()) << settled.error().text();
  EXPECT_EQ(count("orders_dead"), "1");
  auto& admin = relay->outbox_admin();
  const std::vector ids{both[0]->id()};
  for (const auto move :
       {spi::Move::quarantine, spi::Move::release, spi::Move::quarantine, spi::Move::replay}) {
    const auto moved = admin.move({.table = table_, .move = move, .ids = ids, .actor = "ann"});
    ASSERT_TRUE(moved.ok()) << moved.error().text();
    EXPECT_TRUE(moved->items.at(0).moved) << static_cast<int>(move);
  }
  EXPECT_TRUE(admin.stats(table_).ok());
  EXPECT_TRUE(admin.purge({.table = table_, .older_than = std::chrono::hours(1)}).ok());
  EXPECT_TRUE(relay->doctor()->findings().ok());
  EXPECT_TRUE(relay->doctor()->last_sequence(table_).ok());
  const auto connection = connect_as(role);
  works(connection.get(), "SELECT {s}.take_sleeper()");
  works(connection.get(), "SELECT {s}.set_asleep('{s}.orders_flags', 0, true)");
  EXPECT_EQ(outcome(connection.get(), "DROP TABLE {s}.orders_outbox"), refused);
}

TEST_F(PostgresRights, PublicMayCallNothingThatWrites) {
  const auto connection = connect_as(make_role("nobody"));
  database_->sql("GRANT USAGE ON SCHEMA " + database_->schema() + " TO " + roles_.back());
  EXPECT_EQ(outcome(connection.get(), "SELECT {s}.enqueue('t', '{}', outbox => 'orders')"),
            refused);
  may_not_look_or_act(connection.get());
}

TEST_F(PostgresRights, OutboxMadeLaterChangesNobodysRights) {
  const auto connection = connect_as(documented_role("shop"));
  store_->outbox().prepare(TableName::parse("Billing").value()).value();
  works(connection.get(), "SELECT {s}.enqueue('t', '{}', outbox => 'orders')");
  works(connection.get(), "SELECT {s}.enqueue('t', '{}', outbox => 'Billing')");
  const auto nobody = connect_as(make_role("nobody"));
  EXPECT_EQ(outcome(nobody.get(), "SELECT {s}.enqueue('t', '{}', outbox => 'orders')"), refused);
  EXPECT_EQ(database_->sql("SELECT count(*) FROM pg_proc WHERE pronamespace = '" +
                           database_->schema() + "'::regnamespace AND proconfig IS NULL"),
            std::vector<std::string>{"0"});
}

TEST_F(PostgresRights, ProducersOfAnOlderVersionGoOnAfterTheMigration) {
  const auto role = make_role("old");
  store_.reset();
  ASSERT_TRUE(schema()->down({.to = 4}).ok());
  database_->sql(with(with(old_producer_grants, "{schema}", database_->schema()), "{role}", role));
  const auto connection = connect_as(role);
  works(connection.get(), "SELECT {s}.enqueue('t', '{}', outbox => 'orders')");
  store_ = open_store();
  works(connection.get(), "SELECT {s}.enqueue('t', '{}', outbox => 'orders')");
  works(connection.get(), "INSERT INTO {s}.orders_outbox (topic, payload) VALUES ('t', '{}')");
  EXPECT_EQ(count("orders_outbox"), "3");
  EXPECT_EQ(database_->sql("SELECT array_agg(seq ORDER BY seq) FROM " + in_schema("orders_outbox")),
            std::vector<std::string>{"{1,2,3}"})
      << "numbers go on where they were";
}

/// Functions and operators of another user, first on the search_path.
class PostgresSearchPath : public PostgresRights {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    trap_ = database_->schema() + "_trap";
    const auto mallory = make_role("mallory");
    database_->sql("CREATE SCHEMA " + trap_ + " AUTHORIZATION " + mallory);
    const auto connection = connect_as(mallory);
    const auto run = [&](const std::string& sql) { run_sql(connection.get(), sql); };
    run("CREATE TABLE " + trap_ + ".loot (caller name, what text)");
    run("GRANT USAGE ON SCHEMA " + trap_ + " TO PUBLIC; GRANT INSERT ON " + trap_ +
        ".loot TO PUBLIC");
    // What is said to be immutable may write by calling what is not.
    run("CREATE FUNCTION " + trap_ + ".note(what text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN " +
        "INSERT INTO " + trap_ + ".loot VALUES (current_user, what); END $$");
    for (const auto& [signature, result, value] : functions) {
      run("CREATE FUNCTION " + trap_ + "." + signature + " RETURNS " + result +
          " LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM " + trap_ + ".note('" + signature +
          "'); RETURN " + value + "; END $$");
    }
    for (const auto& [name, left, right, result, value] : operators) {
      const auto function = trap_ + ".op_" + std::to_string(++count_);
      run("CREATE FUNCTION " + function + "(a " + left + ", b " + right + ") RETURNS " + result +
          " LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM " + trap_ + ".note('" + name +
          "'); RETURN " + value + "; END $$");
      run("CREATE OPERATOR " + trap_ + "." + name + " (FUNCTION = " + function +
          ", LEFTARG = " + left + ", RIGHTARG = " + right + ")");
    }
  }
  void TearDown() override {
    store_.reset();
    database_->sql("DROP SCHEMA " + trap_ + " CASCADE");
    PostgresRights::TearDown();
  }
  /// Of sessions that find mallory's before anything else.
  [[nodiscard]] std::string trapped_url() const {
    return database_->url() + " options='-c sagabox_test.clock=" + database_->schema() +
           " -c search_path=" + trap_ + ",pg_catalog'";
  }
  std::string loot() {
    return database_
        ->sql("SELECT coalesce(string_agg(DISTINCT what, ', '), '') FROM " + trap_ + ".loot")
        .at(0);
  }

  struct Function {
    std::string signature, result, value;
  };
  struct Operator {
    std::string name, left, right, result, value;
  };
  std::vector<Function> functions{
      {"hashtextextended(text, integer)", "bigint", "1"},
      {"hashtextextended(text, bigint)", "bigint", "1"},
      {"clock_timestamp()", "timestamptz", "pg_catalog.now()"},
      {"now()", "timestamptz", "pg_catalog.transaction_timestamp()"},
      {"pg_backend_pid()", "integer", "1"},
      {"pg_is_in_recovery()", "boolean", "false"},
      {"octet_length(text)", "integer", "1"},
      {"octet_length(bytea)", "integer", "1"},
      {"current_setting(text, boolean)", "text", "''"},
      {"set_config(text, text, boolean)", "text", "''"},
      {"date_part(text, timestamptz)", "double precision", "1"},
      {"to_hex(bigint)", "text", "'1'"},
      {"random()", "double precision", "0.5"},
      {"format(text, text, text)", "text", "''"},
      {"pg_sequence_last_value(regclass)", "bigint", "0"},
      {"jsonb_typeof(jsonb)", "text", "'object'"},
  };
  std::vector<Operator> operators{
      {"%", "bigint", "integer", "bigint", "0"},
      {"&", "bigint", "integer", "bigint", "0"},
      {"/", "bigint", "integer", "bigint", "1"},
      {"%", "bigint", "bigint", "bigint", "0"},
      {"<>", "bigint", "integer", "boolean", "true"},
      {"<>", "text", "text", "boolean", "true"},
      {"=", "text", "text", "boolean", "true"},
      {"||", "text", "text", "text", "'x'"},
      {"*", "double precision", "integer", "double precision", "1"},
      {">", "timestamptz", "timestamptz", "boolean", "true"},
      {"=", "bigint", "bigint", "boolean", "true"},
  };
  std::string trap_;
  int count_ = 0;
};

TEST_F(PostgresSearchPath, OurSessionsRunNothingOfAnotherUser) {
  const auto url = trapped_url();
  store_ = open(url, database_->options()).value();
  store_->outbox().prepare(table_).value();
  const auto one = message("one");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store_
                    ->transaction([&](OwnedTransaction& tx) {
                      return tx.outbox().insert(table_, std::span(&one, 1));
                    })
                    .ok());
  }
  const auto worker = ids_.next<WorkerId>();
  const std::vector scopes{spi::Scope("outbox:orders")};
  ASSERT_TRUE(store_->ownership().join(worker, std::chrono::seconds(30), scopes, 16).value().live);
  (void)store_->ownership().take(scopes[0], worker, 16).value();
  auto& admin = store_->outbox_admin();
  EXPECT_TRUE(admin.stats(table_).ok());
  const std::vector ids{one->id()};
  for (const auto move : {spi::Move::quarantine, spi::Move::replay}) {
    EXPECT_TRUE(admin.move({.table = table_, .move = move, .ids = ids, .actor = "ann"})
                    .value()
                    .items.at(0)
                    .moved);
  }
  EXPECT_TRUE(admin.purge({.table = table_, .older_than = std::chrono::hours(1)}).ok());
  EXPECT_TRUE(store_->doctor()->findings().ok());
  store_->ownership().leave(worker).value();
  store_.reset();
  EXPECT_TRUE(open_schema(url, database_->options())
                  .value()
                  ->reshard({.outbox = table_, .shards = 4})
                  .value()
                  .changed);
  EXPECT_EQ(loot(), "");
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresSearchPath, FunctionsRunNothingOfTheirCallersPath) {
  store_ = open_store();
  const auto connection = PgConnection(PQconnectdb(trapped_url().c_str()));
  const auto run = [&](const std::string& sql) { works(connection.get(), sql); };
  // A table of the session's own is found before the server's, unless a path says otherwise.
  run("CREATE TEMP TABLE pg_class AS SELECT * FROM pg_catalog.pg_class LIMIT 0");
  run("CREATE TEMP TABLE pg_attribute AS SELECT attrelid, attname, attnum, attisdropped FROM "
      "pg_catalog.pg_attribute LIMIT 0");
  run("CREATE TEMP TABLE outbox (name text)");
  run("SELECT {s}.enqueue('t', '{}', outbox => 'orders')");
  run("SELECT {s}.enqueue('t', '{}', key => 'k', id => 'mine', headers => '{\"a\":\"b\"}', delay "
      "=> '1 s', outbox => 'orders')");
  run("SELECT {s}.enqueue('t', '{}', id => 'mine', outbox => 'orders')");
  run("INSERT INTO {s}.orders_outbox (topic, payload, key) VALUES ('t', '{}', 'k')");
  run("CREATE TABLE {s}.things (id integer PRIMARY KEY, name text)");
  run("SELECT {s}.watch_table('{s}.things', 'things.{event}', outbox => 'orders')");
  run("INSERT INTO {s}.things VALUES (1, 'a')");
  run("UPDATE {s}.things SET name = 'b'");
  run("SELECT {s}.unwatch_table('{s}.things', outbox => 'orders')");
  run("SELECT {s}.archive_ahead('orders', 5)");
  run("SELECT {s}.take_sleeper()");
  run("SELECT {s}.set_asleep('{s}.orders_flags', 0, true)");
  run("SELECT {s}.enqueue('t', '{}', outbox => 'orders')");
  run("SELECT * FROM {s}.horizon_holders()");
  run("SELECT {s}.payload_text('{}', true), {s}.may_notify(), {s}.new_id()");
  EXPECT_EQ(loot(), "");
  EXPECT_EQ(count("orders_outbox"), "6");
}

TEST_F(PostgresSearchPath, BorrowedSessionsKeepTheirPathAndRunNothingOfIt) {
  store_ = open_store();
  const auto connection = PgConnection(PQconnectdb(trapped_url().c_str()));
  const auto write = [&](NewMessage fields) {
    fields.topic = "t";
    fields.payload = json("{}");
    const auto one = std::make_shared<const Message>(
        Message::build(std::move(fields), MessageRules{}, ids_, author_clock_).value());
    run_sql(connection.get(), "BEGIN");
    auto tx = enlist(connection.get(), database_->schema()).value();
    const std::vector<std::shared_ptr<const Message>> batch{one, message(), message("x")};
    for (const auto some : {std::span(batch).first(1), std::span(batch)}) {
      const auto written = tx.outbox().insert(table_, some);
      ASSERT_TRUE(written.ok()) << written.error().text();
    }
    run_sql(connection.get(), "SAVEPOINT s");
    run_sql(connection.get(), "ROLLBACK TO s");
    ASSERT_TRUE(tx.outbox().insert(table_, batch).ok());
    run_sql(connection.get(), "COMMIT");
  };
  write({.key = "k"});
  write({.tenant = "acme", .not_before = author_clock_.wall_now(), .id = "mine"});
  write({.tenant = "acme", .id = "mine"});
  EXPECT_EQ(loot(), "");
  EXPECT_EQ(run_sql(connection.get(), "SHOW search_path"),
            std::vector<std::string>{trap_ + ",pg_catalog"});
}

}  // namespace
}  // namespace sagabox::postgres
