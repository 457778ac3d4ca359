#include "integration/postgres/world.hpp"
#include "support/pgbouncer.hpp"

namespace sagabox::integration {
namespace {

using testing::Pgbouncer;
using testing::run_sql;

/// Relays and producers that have nothing but a pgbouncer in transaction mode.
class PostgresPooledDelivery : public PostgresWorld {
 protected:
  void SetUp() override {
    if (const auto missing = Pgbouncer::missing(); !missing.empty()) GTEST_SKIP() << missing;
    PostgresWorld::SetUp();
    pooler.emplace(testing::PostgresServer::shared(), database->clock_query());
    store = open_pooled();
  }
  [[nodiscard]] std::unique_ptr<Store> open_pooled() const {
    return postgres::open(pooler->url(), database->options()).value();
  }

  std::optional<Pgbouncer> pooler;
};

TEST_F(PostgresPooledDelivery, TwoRelaysShareTheShardsAndDeliverEverythingOnceInOrder) {
  const auto other_store = open_pooled();
  auto first = started(*store, into_inbox());
  auto second = started(*other_store, into_inbox());
  ASSERT_TRUE(eventually(
      [&] { return first.snapshot().shards_owned == 8 && second.snapshot().shards_owned == 8; }));
  const testing::PgConnection producer(PQconnectdb(pooler->url().c_str()));
  for (int batch = 0; batch < 25; ++batch) {
    std::vector<NewMessage> messages;
    for (int key = 0; key < 20; ++key) {
      messages.push_back(placed(std::to_string(1000 + batch), "key " + std::to_string(key)));
    }
    run_sql(producer.get(), "BEGIN");
    auto tx = postgres::enlist(producer.get(), database->schema()).value();
    (void)first.write_all(tx, std::move(messages)).value();
    run_sql(producer.get(), batch % 5 == 4 ? "ROLLBACK" : "COMMIT");
  }
  ASSERT_TRUE(settles_to(400));
  const auto times = inbox.times_by_id();
  EXPECT_EQ(times.size(), 400U);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 1U) << id;
  for (int key = 0; key < 20; ++key) {
    const auto payloads = inbox.payloads_of_key("key " + std::to_string(key));
    EXPECT_EQ(payloads.size(), 20U);
    EXPECT_TRUE(std::ranges::is_sorted(payloads)) << key;
  }
}

TEST_F(PostgresPooledDelivery, LateCommitIsFoundAndRetriesAndDeathsWork) {
  auto options = defaults();
  options.retry.attempts_max = 2;
  auto outbox = started(
      *store,
      [&](const Delivery& d) {
        inbox.add(d);
        return d.payload().view() == "\"bad\"" ? retry("no") : done();
      },
      options);
  auto late = store->begin().value();
  (void)outbox.write(*late, placed("\"late\"")).value();
  for (int i = 0; i < 50; ++i) write(outbox, placed(i % 10 == 0 ? "\"bad\"" : "\"good\""));
  ASSERT_TRUE(eventually([&] { return stats().dead == 5 && stats().done == 45; }));
  late->commit().value();
  ASSERT_TRUE(settles_to(46));
}

}  // namespace
}  // namespace sagabox::integration
