#include "integration/outbox/world.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/open.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <memory>

namespace sagabox::integration {
namespace {

/// What the engine does, on a file.
class SqliteOutbox : public ::testing::Test {
 protected:
  OutboxOptions watched() {
    OutboxOptions options;
    options.table = "orders";
    options.metrics = &metrics;
    return options;
  }
  Listener into(Inbox& to) {
    return [&to](const Delivery& d) {
      to.add(d);
      return done();
    };
  }
  static Outbox started(Store& on, Listener listener, OutboxOptions options) {
    auto outbox = Outbox::several_processes(on, std::move(options)).value();
    outbox.listen(topic, std::move(listener)).value();
    outbox.start().value();
    return outbox;
  }
  void write(Outbox& outbox, NewMessage message) {
    (void)store
        ->transaction([&](OwnedTransaction& tx) { return outbox.write(tx, std::move(message)); })
        .value();
  }
  [[nodiscard]] bool settles_to(std::uint64_t delivered) {
    return eventually([&] {
      const auto stats = store->outbox_admin().stats(table).value();
      return stats.pending == 0 && stats.done == delivered;
    });
  }

  const TableName table = TableName::parse("orders").value();
  testing::SqliteFolder folder;
  testing::RecordingMetrics metrics;
  std::unique_ptr<Store> store = open_store("sqlite:" + folder.file()).value();
  Inbox inbox;
};

TEST_F(SqliteOutbox, StoreIsFoundByItsUrl) {
  EXPECT_EQ(store->name(), "sqlite:" + folder.file());
  EXPECT_EQ(open_store("sqlite:").error().code, Code::config_invalid);
}

TEST_F(SqliteOutbox, MessageWithoutAKeyGoesStraightToTheHotQueue) {
  auto options = watched();
  // So slow a poller that only the hot path, or a wake-up, can be the reason for a delivery.
  options.poll_interval = std::chrono::hours(1);
  auto outbox = started(*store, into(inbox), options);
  ASSERT_TRUE(eventually([&] { return outbox.snapshot().shards_owned == 1; }));
  write(outbox, placed("{}", "a key"));
  ASSERT_TRUE(settles_to(1));
  for (int number = 0; number < 20; ++number) write(outbox, placed());
  ASSERT_TRUE(settles_to(21));
  EXPECT_EQ(inbox.size(), 21U);
  const auto hot = metrics.counter_sum("outbox_hot_enqueued_total");
  EXPECT_EQ(hot + metrics.counter_sum("outbox_cold_enqueued_total"), 21);
  EXPECT_GT(hot, 0) << "a read may be faster now and then, not always";
}

class CountingHook final : public WriterHook {
 public:
  void before_write(std::vector<NewMessage>& batch) override {
    for (auto& message : batch) message.headers = {{"hooked", "yes"}};
  }
  void after_commit(const std::vector<Written>& batch) override {
    committed.push_back(batch.size());
  }
  void after_rollback(const std::vector<Written>& batch) override {
    rolled_back.push_back(batch.size());
  }
  std::vector<std::size_t> committed;
  std::vector<std::size_t> rolled_back;
};

TEST_F(SqliteOutbox, BatchIsOneWriteAndItsHooksHearHowItEnded) {
  const auto hook = std::make_shared<CountingHook>();
  auto options = watched();
  options.hooks = {hook};
  auto outbox = Outbox::writer_only(*store, options).value();
  const std::vector batch{placed("1"), placed("2", "a"), placed("3", "a")};
  auto undone = store->begin().value();
  (void)outbox.write_all(*undone, batch).value();
  undone->rollback().value();
  auto kept = store->begin().value();
  const auto written = outbox.write_all(*kept, batch).value();
  kept->commit().value();

  EXPECT_EQ(hook->rolled_back, std::vector<std::size_t>{3});
  EXPECT_EQ(hook->committed, std::vector<std::size_t>{3});
  const spi::Range all{Shard{0}, spi::Lane{1}, {}, 10};
  const auto rows = store->outbox().read(table, std::span(&all, 1), 10'000).value().rows;
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    EXPECT_EQ(rows[at].id, written[at].id);
    EXPECT_EQ(rows[at].message->headers(), (Headers{{"hooked", "yes"}}));
  }
}

TEST_F(SqliteOutbox, OneLeaderDeliversAndTheOtherTakesOverWhenItStops) {
  auto options = watched();
  options.claim = ClaimMode::leader;
  auto first = started(*store, into(inbox), options);
  ASSERT_TRUE(eventually([&] { return first.snapshot().shards_owned == 1; }));
  const auto other_store = open_store("sqlite:" + folder.file()).value();
  Inbox other;
  options.metrics = &no_metrics();
  auto second = started(*other_store, into(other), options);
  write(first, placed("1"));
  ASSERT_TRUE(settles_to(1));
  EXPECT_EQ(other.size(), 0U);
  EXPECT_EQ(second.snapshot().shards_owned, 0U);

  first.stop().value();
  write(second, placed("2"));
  ASSERT_TRUE(settles_to(2));
  EXPECT_EQ(other.size(), 1U);
  EXPECT_EQ(inbox.size(), 1U);
}

TEST_F(SqliteOutbox, CompetingRelaysNeedAnotherStore) {
  auto options = watched();
  options.claim = ClaimMode::competing;
  const auto refused = Outbox::several_processes(*store, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_NE(refused.error().message.find("use sharded or leader"), std::string::npos)
      << refused.error().text();
}

}  // namespace
}  // namespace sagabox::integration
