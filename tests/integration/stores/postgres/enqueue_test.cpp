#include "integration/stores/postgres/world.hpp"

#include <algorithm>
#include <map>
#include <thread>

namespace sagabox::postgres {
namespace {

using sagabox::testing::PgConnection;
using sagabox::testing::run_sql;

constexpr const char* topic = "orders.order.placed.v1";

/// The text as SQL would write it.
std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

class PostgresEnqueue : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_store();
  }
  /// id, sequence, duplicate.
  std::vector<std::string> enqueue(const std::string& arguments) {
    return database_->sql("SELECT id, sequence, duplicate FROM " +
                          in_schema("enqueue(" + arguments + ", outbox => 'orders')"));
  }
  std::string plain() { return literal(topic) + ", '{\"id\":1}'"; }
  /// What the server says of a call that it refuses; with its SQLSTATE.
  std::string refusal(const std::string& arguments) {
    const auto connection = database_->connect();
    const auto call =
        "SELECT " +
        in_schema("enqueue(" + arguments +
                  (arguments.find("outbox") == std::string::npos ? ", outbox => 'orders')" : ")"));
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection.get(), call.c_str()), &PQclear);
    const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    if (state == nullptr) return "accepted";
    return std::string(state) + " " + PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY) +
           PQresultErrorMessage(result.get());
  }
  std::vector<spi::Row> rows() {
    std::vector<spi::Range> ranges;
    for (std::uint16_t shard = 0; shard < 16; ++shard) {
      for (std::uint8_t lane = 0; lane < spi::lane_count; ++lane) {
        ranges.push_back({Shard{shard}, spi::Lane{lane}, {}, 100});
      }
    }
    return store_->outbox().read(table_, ranges, 1 << 20).value().rows;
  }
  /// As a settle moves it, to 'dead' or 'archive'.
  std::string end_sql(const std::string& id, const std::string& to) const {
    const std::string columns =
        "seq, id, shard, attempts, replays, written_at, tenant, topic, aggregate_type, priority, "
        "payload, is_json, content_type, occurred_at";
    return "WITH gone AS (DELETE FROM " + in_schema("orders_outbox") + " WHERE id = '" + id +
           "' RETURNING *) INSERT INTO " + in_schema("orders_" + to) + " (" + columns +
           (to == "dead" ? ", state" : "") + ", ended_at) SELECT " + columns +
           (to == "dead" ? ", 'dead'" : "") + ", now() FROM gone";
  }

  std::unique_ptr<Store> store_;
};

TEST_F(PostgresEnqueue, RowIsTheOneThatTheLibraryWouldWrite) {
  NewMessage draft{
      .topic = topic,
      .key = "customer-1",
      .payload = json(R"({"name":"Jürgen","n":[1,2.5,null]})"),
      .tenant = "acme",
      .aggregate_type = "order",
      .aggregate_id = "4711",
      .priority = Priority::high,
      .content_type = "application/vnd.order+json",
      .headers = {{"a", "b"}, {"c", "d e"}},
      .occurred_at = WallTime{std::chrono::seconds(1'700'000'000)},
      .trace = {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "k=v", "r1", "c1"},
      .id = "one"};
  const auto message = std::make_shared<const Message>(
      Message::build(draft, MessageRules{}, ids_, author_clock_).value());
  store_
      ->transaction(
          [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, std::span(&message, 1)); })
      .value();
  enqueue(
      literal(topic) + ", " + literal(draft.payload.view()) +
      ", key => 'customer-1', tenant => 'acme', aggregate_type => 'order', aggregate_id => "
      "'4711', priority => 0, content_type => 'application/vnd.order+json', headers => "
      "'{\"a\": \"b\", \"c\": \"d e\"}', occurred_at => to_timestamp(1700000000), traceparent => "
      "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate => 'k=v', "
      "request_id => 'r1', correlation_id => 'c1', id => 'two'");
  const auto differences = database_->sql(
      "SELECT count(*) FROM (SELECT DISTINCT (to_jsonb(o) - "
      "'{xid,seq,id,written_at,headers,digest}'::text[]) "
      "|| jsonb_build_object('headers', headers::jsonb) FROM " +
      in_schema("orders_outbox") + " AS o) AS kinds");
  EXPECT_EQ(differences.at(0), "1");
  const auto read = rows();
  ASSERT_EQ(read.size(), 2U);
  for (const auto& row : read) {
    ASSERT_TRUE(row.message) << row.decode_error;
    EXPECT_EQ(row.message->payload().view(), draft.payload.view());
    EXPECT_EQ(row.message->headers(), draft.headers);
    EXPECT_EQ(row.message->digest(), sha256(draft.payload.view()));
    EXPECT_EQ(row.message->trace(), draft.trace);
  }
}

TEST_F(PostgresEnqueue, DefaultsAreThoseOfTheLibrary) {
  enqueue(plain());
  const auto read = rows();
  ASSERT_EQ(read.size(), 1U);
  const auto& message = *read[0].message;
  EXPECT_EQ(message.tenant(), tenant_default);
  EXPECT_EQ(message.aggregate_type(), aggregate_global);
  EXPECT_EQ(message.content_type(), "application/json");
  EXPECT_EQ(message.priority(), Priority::normal);
  EXPECT_FALSE(message.has_key());
  // The relay has to check it.
  EXPECT_EQ(database_->sql("SELECT digest IS NULL FROM " + in_schema("orders_outbox")).at(0), "t");
}

TEST_F(PostgresEnqueue, EveryKindOfPayloadKeepsItsBytes) {
  enqueue("'t', '{ \"b\" : 1,  \"a\":2 }'");
  enqueue("'t', '{ \"b\" : 1,  \"a\":2 }'::json");
  enqueue("'t', jsonb_build_object('a', 1)");
  enqueue("'t', '\\x00ff'::bytea");
  std::map<std::uint64_t, std::shared_ptr<const Message>> by_sequence;
  for (const auto& row : rows()) by_sequence[row.sequence.value] = row.message;
  ASSERT_EQ(by_sequence.size(), 4U);
  EXPECT_EQ(by_sequence[1]->payload().json(), "{ \"b\" : 1,  \"a\":2 }");
  EXPECT_EQ(by_sequence[2]->payload().json(), "{ \"b\" : 1,  \"a\":2 }");
  EXPECT_EQ(by_sequence[3]->payload().json(), "{\"a\": 1}");
  EXPECT_EQ(by_sequence[4]->payload().form(), PayloadForm::bytes);
  EXPECT_EQ(by_sequence[4]->payload().view(), std::string_view("\0\xff", 2));
  EXPECT_EQ(by_sequence[4]->content_type(), "application/octet-stream");
}

TEST_F(PostgresEnqueue, IdsGrowAndAreUlidsOfNow) {
  std::vector<std::string> made;
  for (int i = 0; i < 50; ++i) made.push_back(enqueue(plain()).at(0));
  EXPECT_TRUE(std::ranges::is_sorted(made));
  EXPECT_EQ(std::ranges::adjacent_find(made), made.end());
  for (const auto& id : made) {
    EXPECT_EQ(id.size(), 26U);
    EXPECT_EQ(id.find_first_not_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ"), std::string::npos) << id;
  }
  const auto digits_now = [] {
    const auto random = seeded_random(1);
    UlidSource ours(system_clock(), *random);
    return ours.next<MessageId>().str().substr(0, 10);
  };
  const auto before = digits_now();
  const auto between = enqueue(plain()).at(0).substr(0, 10);
  EXPECT_LE(before, between);
  EXPECT_LE(between, digits_now());
}

/// The session remembers the first digits of its ids in a setting, which anybody may change.
TEST_F(PostgresEnqueue, IdsAreRightWhateverTheSessionRemembers) {
  const auto connection = database_->connect();
  const auto id_of = [&] {
    const auto row = run_sql(connection.get(), "SELECT (" + in_schema("enqueue(") + plain() +
                                                   ", outbox => 'orders')).id");
    return row.at(0);
  };
  auto last = id_of();
  for (const std::string act :
       {"SET sagabox.ulid_head = ''", "SET sagabox.ulid_head = 'nonsense'",
        "SET sagabox.ulid_head = '00000000'", "RESET sagabox.ulid_head", "DISCARD ALL", "BEGIN",
        "SAVEPOINT one", "ROLLBACK TO one", "ROLLBACK"}) {
    run_sql(connection.get(), act);
    const auto next = id_of();
    EXPECT_EQ(next.size(), 26U) << act;
    EXPECT_LT(last, next) << act;
    EXPECT_EQ(next.find_first_not_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ"), std::string::npos) << act;
    last = next;
  }
}

TEST_F(PostgresEnqueue, LongAndEmptyTextsAreWrittenAsTheyAre) {
  for (const std::size_t key_length : {0, 1, 255, 256}) {
    for (const std::size_t topic_length : {1, 127, 128}) {
      enqueue(literal(std::string(topic_length, 't')) + ", '{}', key => " +
              literal(std::string(key_length, 'k')));
    }
  }
  for (const std::size_t size : {262'142, 262'143, 300'000}) {
    enqueue("'t', to_json(repeat('x', " + std::to_string(size) + "))::text");
  }
  EXPECT_EQ(database_
                ->sql("SELECT string_agg(coalesce(length(key), 0) || ' ' || length(topic), "
                      "',' ORDER BY seq) FROM " +
                      in_schema("orders_outbox") + " WHERE octet_length(payload) = 2")
                .at(0),
            "0 1,0 127,0 128,1 1,1 127,1 128,255 1,255 127,255 128,256 1,256 127,256 128");
  EXPECT_EQ(database_
                ->sql("SELECT string_agg(octet_length(payload)::text, ',' ORDER BY seq) FROM " +
                      in_schema("orders_outbox") + " WHERE octet_length(payload) > 2")
                .at(0),
            "262144,262145,300002");
}

TEST_F(PostgresEnqueue, MessageThatATriggerLeavesOutIsAnError) {
  database_->sql("CREATE FUNCTION " + in_schema("leave_out") +
                 "() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'");
  database_->sql("CREATE TRIGGER leave_out BEFORE INSERT ON " + in_schema("orders_outbox") +
                 " FOR EACH ROW EXECUTE FUNCTION " + in_schema("leave_out") + "()");
  EXPECT_EQ(refusal(plain()).substr(0, 5), "P0002");
  EXPECT_EQ(refusal(plain() + ", tenant => 'acme'").substr(0, 5), "P0002");
}

TEST_F(PostgresEnqueue, RollbackLeavesNothing) {
  const auto connection = database_->connect();
  run_sql(connection.get(), "BEGIN");
  run_sql(connection.get(), "SELECT " + in_schema("enqueue(" + plain() + ", outbox => 'orders')"));
  run_sql(connection.get(), "ROLLBACK");
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(PostgresEnqueue, IdThatIsPendingIsADuplicate) {
  const auto first = enqueue(plain() + ", id => 'mine'");
  EXPECT_EQ(first, (std::vector<std::string>{"mine", "1", "f"}));
  const auto second = enqueue(plain() + ", id => 'mine'");
  EXPECT_EQ(second, (std::vector<std::string>{"mine", "1", "t"}));
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresEnqueue, IdThatIsDeadOrRetainedIsADuplicate) {
  for (const std::string where : {"dead", "archive"}) {
    const auto first = enqueue(plain() + ", id => '" + where + "'");
    database_->sql(end_sql(where, where));
    const auto second = enqueue(plain() + ", id => '" + where + "'");
    EXPECT_EQ(second, (std::vector<std::string>{where, first.at(1), "t"}));
    EXPECT_EQ(count("orders_outbox"), "0") << "what went in was taken back";
  }
}

TEST_F(PostgresEnqueue, IdThatEndedTwiceIsADuplicateOfTheNewest) {
  const std::vector<std::pair<std::string, std::string>> ends{
      {"dead", "archive"}, {"archive", "dead"}, {"dead", "dead"}, {"archive", "archive"}};
  for (const auto& [first, second] : ends) {
    const auto id = first + "-" + second;
    const auto insert = "INSERT INTO " + in_schema("orders_outbox") +
                        " (id, topic, payload) VALUES ('" + id + "', 't', '{}') RETURNING seq";
    database_->sql(insert);
    database_->sql(end_sql(id, first));
    const auto newest = database_->sql(insert).at(0);
    EXPECT_EQ(enqueue(plain() + ", id => '" + id + "'").at(1), newest) << "pending";
    database_->sql(end_sql(id, second));
    EXPECT_EQ(enqueue(plain() + ", id => '" + id + "'"),
              (std::vector<std::string>{id, newest, "t"}));
  }
}

TEST_F(PostgresEnqueue, IdSettledWhileItIsWrittenAgainIsADuplicate) {
  const auto first = enqueue(plain() + ", id => 'mine'");
  const auto settler = database_->connect();
  run_sql(settler.get(), "BEGIN; " + end_sql("mine", "archive"));
  std::vector<std::string> again;
  std::thread writer([&] {
    const auto connection = database_->connect();
    again = run_sql(connection.get(),
                    "SELECT id, sequence, duplicate FROM " +
                        in_schema("enqueue(" + plain() + ", id => 'mine', outbox => 'orders')"));
  });
  until_blocked("enqueue");
  run_sql(settler.get(), "COMMIT");
  writer.join();
  EXPECT_EQ(again, (std::vector<std::string>{"mine", first.at(1), "t"}));
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(PostgresEnqueue, SaysWhatIsWrongAndWhatIsRight) {
  const std::string long_text(300, 'x');
  const std::map<std::string, std::string> cases{
      {"'', '{}'", "22023 topic: empty; give 1 to 128 printable characters"},
      {literal(long_text) + ", '{}'", "22023 topic: 300 characters, at most 128 are allowed"},
      {"E'a\\nb', '{}'", "22023 topic: has a control character"},
      {"'t', '{}', tenant => ''", "22023 tenant: empty"},
      {"'t', '{}', key => " + literal(long_text), "22023 key: 300 characters, at most 256"},
      {"'t', '{}', priority => 3", "22023 priority: 3 is none; it is 0 (high)"},
      {"'t', '{}', id => 'a b'", "22023 id: give 1 to 36 printable"},
      {"'t', NULL::text", "22023 payload: missing"},
      {"'t', '{\"secret\":'", "22023 payload: not JSON; give one JSON value"},
      {"'t', repeat('[', 100000)", "22023 payload: not JSON"},
      {"'t', to_jsonb(repeat('x', 1048576))", "22023 payload: 1048578 bytes, at most 1048576"},
      {"'t', '{}', headers => '[]'", "22023 headers: not a JSON object"},
      {"'t', '{}', headers => '{\"a\":1}'", "22023 headers: the value of a is no string"},
      {"'t', '{}', headers => '{\"\":\"1\"}'", "22023 headers: a name is empty"},
      {"'t', '{}', traceparent => '00-x'", "22023 traceparent: not W3C trace context"},
      {"'t', '{}', occurred_at => 'infinity'", "22023 occurred_at: outside the years"},
      {"'t', '{}', not_before => now(), delay => '1 s'", "22023 delay: not_before is given too"},
      {"'t', '{}', outbox => 'nix'", "42P01 outbox: there is no 'nix' in schema"},
  };
  for (const auto& [arguments, expected] : cases) {
    const auto said = refusal(arguments);
    EXPECT_EQ(said.substr(0, expected.size()), expected) << arguments.substr(0, 60);
    EXPECT_EQ(said.find("secret"), std::string::npos) << "no payload in an error";
  }
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(PostgresEnqueue, WhatTheLibraryRefusesIsRefusedOrLeftToTheRelay) {
  // PostgreSQL takes these for JSON; without a digest the relay looks itself.
  enqueue(R"('t', '"\ud800"')");
  enqueue("'t', repeat('[', 600) || repeat(']', 600)");
  const auto read = rows();
  ASSERT_EQ(read.size(), 2U);
  for (const auto& row : read) {
    EXPECT_FALSE(row.message);
    EXPECT_NE(row.decode_error.find("payload"), std::string::npos);
  }
}

TEST_F(PostgresEnqueue, DelayedMessageWaitsForItsTime) {
  enqueue(plain() + ", delay => '1 hour'");
  enqueue(plain() + ", not_before => now() - interval '1 hour'");
  EXPECT_EQ(rows().size(), 1U);
  EXPECT_EQ(database_->sql("SELECT count(*) FROM " + in_schema("orders_outbox") +
                           " WHERE due = not_before AND due > now() + interval '50 minutes'"),
            (std::vector<std::string>{"1"}));
}

TEST_F(PostgresEnqueue, OutboxesMadeLaterHaveABranchOfTheirOwn) {
  store_->outbox().prepare(TableName::parse("Billing").value()).value();
  database_->sql("SELECT " + in_schema("enqueue('t', '{}', outbox => 'Billing')"));
  EXPECT_EQ(count("\"Billing_outbox\""), "1");
  EXPECT_EQ(count("orders_outbox"), "0");
}

}  // namespace
}  // namespace sagabox::postgres
