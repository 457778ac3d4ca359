#include "integration/postgres/world.hpp"
#include "support/places.hpp"

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>
#include <vector>

namespace sagabox::integration {
namespace {

constexpr std::uint64_t waiting_for_ever = 1;  // delayed until the year 2999

std::string in_place_of(std::string text, const std::string& what, const std::string& value) {
  for (auto at = text.find(what); at != std::string::npos;
       at = text.find(what, at + value.size())) {
    text.replace(at, what.size(), value);
  }
  return text;
}

/// A schema that version 4 made and used.
class PostgresUpgrade : public PostgresWorld {
 protected:
  void SetUp() override {
    PostgresWorld::SetUp();
    if (IsSkipped()) return;
    std::ifstream file(testing::project_folder() /
                       "tests/integration/stores/postgres/data/schema_4.sql");
    std::stringstream text;
    text << file.rdbuf();
    database->sql(in_place_of(text.str(), "the_schema", database->schema()));
    before_ = contents();
  }
  std::string in(const std::string& name) const { return database->schema() + "." + name; }
  std::string one(const std::string& sql) { return database->sql(sql).at(0); }
  /// Every message with all that it carries, but for its place.
  std::string contents() {
    std::string all;
    for (const std::string name :
         {"orders_outbox", "orders_dead", "orders_archive", "\"Billing_outbox\""}) {
      all += one("SELECT coalesce(string_agg((to_jsonb(t) - 'shard' - 'lane')::text, chr(10) ORDER "
                 "BY seq), '') FROM " +
                 in(name) + " t") +
             "\n";
    }
    return all;
  }
  std::string steps() {
    return one("SELECT string_agg(DISTINCT number::text, ',' ORDER BY number::text) FROM " +
               in("migration"));
  }
  /// By key, as they arrived.
  struct Arrivals {
    std::mutex mutex;
    std::map<std::pair<std::string, std::string>, std::vector<Sequence>> by_key;
    std::map<std::string, int> by_id;
    std::size_t count = 0;
  };
  Outbox deliver_to(Arrivals& arrivals, OutboxOptions options) {
    auto outbox = Outbox::several_processes(*store, std::move(options)).value();
    for (const std::string name : {"ok.placed.v1", "ok.nokey.v1", "ok.bytes.v1", "ok.delayed.v1",
                                   "ok.again.v1", "flaky.placed.v1", "reject.placed.v1"}) {
      outbox
          .listen(name,
                  [&](const Delivery& d) {
                    const std::lock_guard lock(arrivals.mutex);
                    if (!d.key().empty()) {
                      arrivals.by_key[{d.tenant(), d.key()}].push_back(d.sequence());
                    }
                    ++arrivals.by_id[d.tenant() + "/" + d.id().str()];
                    ++arrivals.count;
                    return done();
                  })
          .value();
    }
    outbox.start().value();
    return outbox;
  }
  bool delivers(Arrivals& arrivals, OutboxOptions options) {
    auto outbox = deliver_to(arrivals, std::move(options));
    return eventually([&] { return stats().pending == waiting_for_ever; });
  }

  std::string before_;
};

TEST_F(PostgresUpgrade, EveryMessageIsThereAndAsItWas) {
  ASSERT_EQ(steps(), "1,2,3,4");
  store->outbox().prepare(table).value();

  EXPECT_EQ(steps(), "1,2,3,4,5,6,7");
  EXPECT_EQ(contents(), before_);
  const auto now = stats();
  EXPECT_EQ(now.pending, 33U);
  EXPECT_EQ(now.waiting, 3U);
  EXPECT_EQ(now.dead, 4U);
  EXPECT_EQ(now.quarantined, 2U);
  EXPECT_EQ(now.done, 4U);
  EXPECT_EQ(one("SELECT count(DISTINCT shard) > 1 FROM " + in("orders_outbox") +
                " WHERE key = 'customer-7'"),
            "t")
      << "a key is one tenant's";
  EXPECT_EQ(one("SELECT count(*) FROM (SELECT FROM " + in("orders_outbox") +
                " WHERE key IS NOT NULL GROUP BY tenant, key HAVING count(DISTINCT shard) > 1) x"),
            "0");
  EXPECT_EQ(one("SELECT sum(epoch) > 0 AND bool_and(owner IS NULL) FROM " + in("shard_owner") +
                " WHERE scope = 'outbox:orders'"),
            "t");
}

TEST_F(PostgresUpgrade, EverythingIsDeliveredInTheOrderOfItsKey) {
  Arrivals arrivals;
  ASSERT_TRUE(delivers(arrivals, defaults()));
  EXPECT_EQ(arrivals.count, 32U);
  for (const auto& [id, times] : arrivals.by_id) EXPECT_EQ(times, 1) << id;
  for (const auto& [key, sequences] : arrivals.by_key) {
    EXPECT_TRUE(std::ranges::is_sorted(sequences)) << key.first << "/" << key.second;
  }
  EXPECT_EQ((arrivals.by_key[{"acme", "customer-7"}].size()), 4U);
  EXPECT_EQ((arrivals.by_key[{"default", "customer-7"}].size()), 3U);
}

TEST_F(PostgresUpgrade, CompetingRelaysDeliverItToo) {
  auto options = defaults();
  options.claim = ClaimMode::competing;
  // Claims go by the number of the writing transaction, and a server that a dump is restored on
  // counts from the beginning.
  database->sql("UPDATE " + in("orders_outbox") + " SET xid = pg_current_xact_id()");
  Arrivals arrivals;
  ASSERT_TRUE(delivers(arrivals, options));
  EXPECT_EQ(arrivals.count, 32U);
}

TEST_F(PostgresUpgrade, DeadAndDeliveredMessagesAreReplayed) {
  store->outbox().prepare(table).value();
  auto& admin = store->outbox_admin();
  const auto dead = admin.list({.table = table, .state = MessageState::dead}).value().rows;
  ASSERT_EQ(dead.size(), 4U);
  EXPECT_EQ(dead.at(0).id.view(), "dead-1");
  EXPECT_EQ(dead.at(0).tenant, "acme");

  std::vector<MessageId> ids;
  for (const auto& record : dead) ids.push_back(record.id);
  const auto items =
      admin.move({.table = table, .move = spi::Move::replay, .ids = ids, .actor = "ann"})
          .value()
          .items;
  EXPECT_FALSE(items.at(0).moved) << "its id was used again, and is pending";
  EXPECT_TRUE(items.at(0).id_is_pending);
  for (std::size_t i = 1; i < items.size(); ++i) EXPECT_TRUE(items.at(i).moved) << i;
  EXPECT_EQ(stats().dead, 1U);
  EXPECT_EQ(stats().done, 4U) << "one id was dead and delivered";

  Arrivals arrivals;
  ASSERT_TRUE(delivers(arrivals, defaults()));
  EXPECT_EQ(arrivals.count, 35U);
  EXPECT_EQ(stats().done, 39U);
  EXPECT_TRUE(admin
                  .move({.table = table,
                         .move = spi::Move::replay,
                         .ids = std::vector{dead.at(0).id},
                         .actor = "ann"})
                  .value()
                  .items.at(0)
                  .moved)
      << "what had its id has ended";
}

TEST_F(PostgresUpgrade, NumbersGoOn) {
  const auto last = std::stoull(one("SELECT last_value FROM " + in("orders_seq")));
  store->outbox().prepare(table).value();
  EXPECT_EQ(std::stoull(one("SELECT sequence FROM " +
                            in("enqueue('ok.placed.v1', '{}', outbox => 'orders')"))),
            last + 1);
  EXPECT_EQ(one("SELECT duplicate FROM " +
                in("enqueue('ok.placed.v1', '{}', id => 'pending-1', outbox => 'orders')")),
            "t");
  EXPECT_EQ(one("SELECT duplicate FROM " + in("enqueue('ok.placed.v1', '{}', id => 'pending-1', "
                                              "tenant => 'other', outbox => 'orders')")),
            "f");
}

TEST_F(PostgresUpgrade, RefusedWhileARelayRunsAndNothingChanges) {
  const std::string relay = "01K9ZZZZZZZZZZZZZZZZZZZZZZ";
  database->sql("INSERT INTO " + in("worker") + " VALUES ('" + relay +
                "', clock_timestamp() + interval '1 minute'); INSERT INTO " + in("member") +
                " VALUES ('outbox:orders', '" + relay + "')");
  const auto refused = store->outbox().prepare(table);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::tx_invalid_state);
  EXPECT_NE(refused.error().message.find("1 relays run on outbox orders"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(steps(), "1,2,3,4");
  EXPECT_EQ(contents(), before_);

  database->advance_time(std::chrono::minutes(2));
  EXPECT_TRUE(store->outbox().prepare(table).ok());
  EXPECT_EQ(contents(), before_);
}

TEST_F(PostgresUpgrade, IsTakenBackAndDoneAgain) {
  store->outbox().prepare(table).value();
  const auto schema = postgres::open_schema(database->url(), database->options()).value();
  for (const int to : {5, 4}) {
    const auto back = schema->down({.to = to});
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(contents(), before_);
    EXPECT_EQ(one("SELECT count(*) FROM " + in("orders_outbox") +
                  " WHERE shard <> coalesce(hashtextextended(key, 0) & 2147483647, seq) % 16"),
              "0");
  }
  EXPECT_EQ(one("SELECT duplicate FROM " +
                in("enqueue('ok.placed.v1', '{}', id => 'pending-1', outbox => 'orders')")),
            "t");
  ASSERT_TRUE(schema->up({}).ok());
  EXPECT_EQ(contents(), before_);
}

TEST_F(PostgresUpgrade, CountOfShardsStaysWhatItWas) {
  const auto four =
      postgres::open_schema(database->url(), {.schema = database->schema(), .shards = 4}).value();
  ASSERT_TRUE(four->up({}).ok());
  EXPECT_EQ(one("SELECT max(shard) > 4 FROM " + in("orders_outbox")), "t");
  EXPECT_EQ(one("SELECT shards FROM " + in("outbox") + " WHERE name = 'orders'"), "16");
}

}  // namespace
}  // namespace sagabox::integration
