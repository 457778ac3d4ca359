#include "integration/stores/sqlite/world.hpp"

#include <stdexcept>

namespace sagabox::sqlite {
namespace {

/// What programs in any language may do with plain SQL.
class SqliteContract : public SqliteTest {
 protected:
  std::vector<spi::Row> read(Priority lane = Priority::normal) {
    const spi::Range all{Shard{0}, spi::Lane{static_cast<std::uint8_t>(lane)}, {}, 100};
    return store_->outbox().read(table_, std::span(&all, 1), 1'000'000).value().rows;
  }
  spi::TableStats stats() { return store_->outbox_admin().stats(table_).value(); }

  std::unique_ptr<Store> store_ = open_store();
};

TEST_F(SqliteContract, TopicAndPayloadAreEnough) {
  sql("INSERT INTO orders_outbox (topic, payload) "
      "VALUES ('orders.order.placed.v1', '{\"id\":17}')");
  const auto rows = read();
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_NE(rows[0].message, nullptr) << rows[0].decode_error;
  const Message& got = *rows[0].message;
  EXPECT_EQ(got.payload().json(), "{\"id\":17}");
  EXPECT_EQ(got.tenant(), "default");
  EXPECT_EQ(got.aggregate_type(), "__GLOBAL__");
  EXPECT_EQ(got.content_type(), "application/json");
  EXPECT_EQ(got.digest(), sha256("{\"id\":17}"));
  EXPECT_EQ(got.id().view().size(), 32U);
  EXPECT_LE(got.occurred_at(), system_clock().wall_now());
  EXPECT_GT(got.occurred_at(), system_clock().wall_now() - std::chrono::minutes(10));
  EXPECT_EQ(stats().pending, 1U);
}

TEST_F(SqliteContract, EveryFieldCanBeGiven) {
  sql("INSERT INTO orders_outbox (id, tenant, topic, aggregate_type, aggregate_id, key, priority, "
      "payload, is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, "
      "request_id, correlation_id) VALUES ('mine', 'acme', 'a.b.c.v1', 'Order', '7', 'k', 0, "
      "x'00ff', 0, 'image/png', '{\"x\":\"1\"}', 1000000, 2000000, "
      "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'v=1', 'r', 'c')");
  const auto rows = read();
  ASSERT_EQ(rows.size(), 1U) << "a message with a key ignores its priority";
  ASSERT_NE(rows[0].message, nullptr) << rows[0].decode_error;
  const Message& got = *rows[0].message;
  EXPECT_EQ(got.id().view(), "mine");
  EXPECT_EQ(got.tenant(), "acme");
  EXPECT_EQ(got.aggregate_id(), "7");
  EXPECT_EQ(got.key(), "k");
  EXPECT_EQ(got.priority(), Priority::high);
  EXPECT_EQ(got.payload().view(), std::string_view("\0\xff", 2));
  EXPECT_EQ(got.payload().form(), PayloadForm::bytes);
  EXPECT_EQ(got.content_type(), "image/png");
  EXPECT_EQ(got.headers(), (Headers{{"x", "1"}}));
  EXPECT_EQ(got.trace().request_id, "r");
  EXPECT_EQ(got.occurred_at(), WallTime(std::chrono::seconds(1)));
}

TEST_F(SqliteContract, PriorityAndDelayChooseThePlace) {
  sql("INSERT INTO orders_outbox (topic, payload, priority) VALUES ('a.b.c.v1', '0', 0), "
      "('a.b.c.v1', '1', 1), ('a.b.c.v1', '2', 2)");
  sql("INSERT INTO orders_outbox (topic, payload, not_before) "
      "VALUES ('a.b.c.v1', '3', 1000000 * (unixepoch() + 3600))");
  EXPECT_EQ(read(Priority::high).at(0).message->payload().view(), "0");
  EXPECT_EQ(read(Priority::normal).at(0).message->payload().view(), "1");
  EXPECT_EQ(read(Priority::low).at(0).message->payload().view(), "2");
  EXPECT_EQ(stats().pending, 4U);
  EXPECT_EQ(stats().waiting, 1U);
}

TEST_F(SqliteContract, KnownIdIsLeftAlone) {
  const auto first = write(*store_, "same").value();
  sql("INSERT INTO orders_outbox (id, topic, payload) VALUES ('same', 'a.b.c.v1', '1')");
  EXPECT_EQ(count("orders_outbox"), "1");
  const std::vector ids{first.id};
  (void)store_->outbox_admin()
      .move({.table = table_, .move = spi::Move::quarantine, .ids = ids})
      .value();
  sql("INSERT INTO orders_outbox (id, topic, payload) VALUES ('same', 'a.b.c.v1', '1')");
  EXPECT_EQ(count("orders_outbox"), "0");
  EXPECT_EQ(stats().pending, 0U);
}

TEST_F(SqliteContract, KnownIdOfAnotherTenantIsAnotherMessage) {
  const auto insert = [&](const std::string& tenant) {
    sql("INSERT INTO orders_outbox (id, tenant, topic, payload) VALUES ('same', '" + tenant +
        "', 'a.b.c.v1', '1')");
  };
  insert("acme");
  insert("other");
  insert("acme");
  EXPECT_EQ(count("orders_outbox"), "2");
  const std::vector ids{MessageId::parse("same").value()};
  (void)store_->outbox_admin()
      .move({.table = table_, .move = spi::Move::quarantine, .ids = ids, .tenant = "acme"})
      .value();
  insert("acme");
  EXPECT_EQ(count("orders_outbox"), "1") << "it is quarantined, and still a duplicate";
  sql("INSERT INTO orders_outbox (id, topic, payload) VALUES ('same', 'a.b.c.v1', '1')");
  EXPECT_EQ(count("orders_outbox WHERE tenant = 'default'"), "1");
}

TEST_F(SqliteContract, IdThatIsDeadAlreadyCanDieAgain) {
  // Past the view, as a program can do it that does not keep to the contract.
  const auto insert = [&](int place) {
    sql("INSERT INTO orders_pending (place, id, written_at, tenant, topic, aggregate_type, "
        "priority, "
        "is_json, content_type, occurred_at, payload) VALUES (105553116266496 + " +
        std::to_string(place) +
        ", 'same', 1, 'default', 'a.b.c.v1', '__GLOBAL__', 1, 1, 'application/json', 1, x'31')");
  };
  const auto worker = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{"outbox:orders"};
  ASSERT_TRUE(store_->ownership().join(worker, std::chrono::seconds(15), scopes, 1).value().live);
  const auto taken = store_->ownership().take(scopes[0], worker, 1).value();
  const std::vector<spi::Fence> fences{{taken.at(0).shard, taken.at(0).epoch}};
  for (const int place : {1, 2}) {
    insert(place);
    const std::vector<spi::Settlement> items{
        {.sequence = Sequence{static_cast<std::uint64_t>(place)},
         .id = MessageId::parse("same").value(),
         .verdict = spi::Verdict::dead,
         .attempts = 1,
         .error = "refused"}};
    const auto settled = store_->outbox().settle(
        {.table = table_, .fencing = {"outbox:orders", worker, fences}, .items = items});
    ASSERT_TRUE(settled.ok()) << settled.error().text();
    EXPECT_EQ(settled->parts.at(0).rows, 1U);
  }
  EXPECT_EQ(count("orders_dead"), "2");
}

TEST_F(SqliteContract, RollbackTakesItBack) {
  sql("BEGIN; INSERT INTO orders_outbox (topic, payload) VALUES ('a.b.c.v1', '1'); ROLLBACK");
  EXPECT_TRUE(read().empty());
  EXPECT_EQ(stats().pending, 0U);
}

TEST_F(SqliteContract, WhatIsMissingIsSaid) {
  const auto refused = [&](const std::string& statement) -> std::string {
    try {
      sql(statement);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refused("INSERT INTO orders_outbox (topic) VALUES ('a.b.c.v1')"),
            "sagabox: topic and payload must be given");
  EXPECT_EQ(refused("INSERT INTO orders_outbox (id, topic, payload) VALUES ('', 't', '1')"),
            "sagabox: an id has 1 to 36 characters");
  EXPECT_EQ(stats().pending, 0U);
}

TEST_F(SqliteContract, WhatIsNoMessageSaysWhyWhenItIsRead) {
  sql("INSERT INTO orders_outbox (topic, payload) VALUES ('a.b.c.v1', '{broken')");
  const auto rows = read();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].message, nullptr);
  EXPECT_NE(rows[0].decode_error.find("payload"), std::string::npos) << rows[0].decode_error;
}

TEST_F(SqliteContract, WhatIsIgnoredCountsForNothing) {
  write(*store_).value();
  sql("CREATE TABLE business (n INTEGER PRIMARY KEY)");
  sql("INSERT INTO business VALUES (1000000);"
      "INSERT OR IGNORE INTO orders_outbox (topic, payload, priority) VALUES ('a.b.c.v1', '1', 7)");
  EXPECT_EQ(stats().pending, 1U);
  const auto next = write(*store_).value().sequence.value;
  EXPECT_EQ(next, 2U);
  EXPECT_EQ(stats().pending, 2U);
}

TEST_F(SqliteContract, SequencesOfAllWritersAscend) {
  const auto first = write(*store_).value().sequence.value;
  sql("INSERT INTO orders_outbox (topic, payload) VALUES ('a.b.c.v1', '1')");
  const auto third = write(*store_).value().sequence.value;
  EXPECT_EQ(third, first + 2);
  EXPECT_EQ(sql("SELECT max(seq) FROM orders_outbox").at(0), std::to_string(third));
}

}  // namespace
}  // namespace sagabox::sqlite
