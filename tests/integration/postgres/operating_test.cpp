#include "integration/postgres/world.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/testing/recording.hpp>

#include <atomic>
#include <string>
#include <vector>

namespace sagabox::integration {
namespace {

class RecordingHook final : public WriterHook {
 public:
  void before_write(std::vector<NewMessage>& drafts) override {
    std::erase_if(drafts, [](const NewMessage& draft) { return draft.key == "unwanted"; });
  }
  void after_write(const std::vector<Written>& written) override { note("write", written); }
  void after_commit(const std::vector<Written>& written) override { note("commit", written); }
  void after_rollback(const std::vector<Written>& written) override { note("rollback", written); }
  std::vector<std::string> calls;

 private:
  void note(const char* what, const std::vector<Written>& written) {
    calls.push_back(std::string(what) + " " + std::to_string(written.size()));
  }
};

/// A running outbox, and somebody who operates it.
class PostgresOperating : public PostgresWorld {
 protected:
  static OutboxOptions quick() {
    auto options = defaults();
    options.control_interval = milliseconds(5);
    return options;
  }
  /// Delivers nothing that says "broken" until it is mended.
  Listener breakable() {
    return [this](const Delivery& d) {
      if (d.payload().view() == R"("broken")" && !mended) return reject("broken");
      inbox.add(d);
      return done();
    };
  }
  Admin operated() { return Admin::open(*store, {.actor = "night shift"}).value(); }

  std::atomic<bool> mended{false};
};

TEST_F(PostgresOperating, HooksSeeABatchOnceAndItsFate) {
  const auto hook = std::make_shared<RecordingHook>();
  auto options = quick();
  options.hooks.push_back(hook);
  auto outbox = started(*store, into_inbox(), options);
  const auto batch = [&](OwnedTransaction& tx) {
    return outbox.write_all(tx, {placed(), placed("{}", "unwanted"), placed("{}", "k")});
  };
  EXPECT_EQ(store->transaction(batch).value().size(), 2U);
  auto tx = store->begin().value();
  EXPECT_EQ(batch(*tx).value().size(), 2U);
  tx->rollback().value();
  ASSERT_TRUE(settles_to(2));
  EXPECT_EQ(inbox.size(), 2U);
  EXPECT_EQ(hook->calls,
            (std::vector<std::string>{"write 2", "commit 2", "write 2", "rollback 2"}));
}

TEST_F(PostgresOperating, DeadIsReplayedQuarantinedIsReleasedAndAllOfItIsAudited) {
  auto outbox = started(*store, breakable(), quick());
  auto admin = operated();
  const auto dead = write(outbox, placed(R"("broken")"));
  const auto other = write(outbox, placed(R"("broken")"));
  ASSERT_TRUE(eventually([&] { return stats().dead == 2; }));
  EXPECT_EQ(admin.count(table, MessageState::dead, {}).value(), 2U);
  const auto record = admin.inspect(table, dead.id).value().value();
  EXPECT_EQ(record.state, MessageState::dead);
  EXPECT_NE(record.error.find("broken"), std::string::npos) << record.error;
  EXPECT_TRUE(admin.quarantine(table, std::vector{other.id}, "ask first").value().front().moved);
  mended = true;
  EXPECT_TRUE(admin.replay(table, std::vector{dead.id}).value().front().moved);
  ASSERT_TRUE(eventually([&] { return stats().done == 1; }));
  EXPECT_GT(inbox.all().at(0).sequence, dead.sequence.value) << "it goes to the end";
  EXPECT_EQ(stats().quarantined, 1U) << "nobody touches it";
  EXPECT_TRUE(admin.release(table, std::vector{other.id}).value().front().moved);
  ASSERT_TRUE(settles_to(2));
  EXPECT_EQ(admin.verify_audit().value().problems_found, 0U);
  EXPECT_GE(store->audit().read(0, 10).value().size(), 5U);
}

TEST_F(PostgresOperating, CountsBeyondWhatIsCountedAreMarkedAsEstimates) {
  auto outbox = Outbox::writer_only(*store, quick()).value();
  write(outbox, placed());
  const auto ended = [&](int from, int until) {
    database->sql("INSERT INTO " + database->schema() +
                  ".orders_archive (seq, id, shard, ended_at, attempts, replays, written_at, "
                  "tenant, topic, aggregate_type, priority, payload, is_json, content_type, "
                  "occurred_at) SELECT n, 'old-' || n, 0, now(), 1, 0, now(), 'default', 't', "
                  "'__GLOBAL__', 1, '{}', true, '', now() FROM generate_series(" +
                  std::to_string(from) + ", " + std::to_string(until) + ") AS n");
  };
  ended(1, 9'999);
  EXPECT_EQ(stats().done, 9'999U);
  EXPECT_FALSE(stats().done_estimated);
  ended(10'000, 10'001);
  EXPECT_GE(stats().done, 10'000U);
  EXPECT_TRUE(stats().done_estimated);
  EXPECT_FALSE(stats().estimated);
  EXPECT_FALSE(stats().dead_estimated);
}

TEST_F(PostgresOperating, JobReplaysTheArchiveFromASequenceOn) {
  auto outbox = started(*store, breakable(), quick());
  auto admin = operated();
  std::vector<Written> written;
  for (int i = 0; i < 30; ++i) written.push_back(write(outbox, placed()));
  ASSERT_TRUE(settles_to(30));
  const auto job = admin
                       .start_replay(table, {.from = MessageState::done,
                                             .filter = {.first = written[20].sequence}})
                       .value();
  EXPECT_EQ(job.matched, 10U);
  ASSERT_TRUE(eventually(
      [&] { return admin.job(table, job.id).value().state == ReplayJob::State::finished; }));
  ASSERT_TRUE(settles_to(30));
  EXPECT_EQ(inbox.size(), 40U);
  const auto times = inbox.times_by_id();
  EXPECT_EQ(times.at(written[19].id.str()), 1U);
  EXPECT_EQ(times.at(written[20].id.str()), 2U);
}

TEST_F(PostgresOperating, PausedTableDeliversNothingAndLosesNothing) {
  auto outbox = started(*store, into_inbox(), quick());
  auto admin = operated();
  EXPECT_TRUE(admin.pause_table(table, "night").value());
  // A pause is seen at the next look at the controls: until one message stays, it is not.
  std::size_t count = 0;
  ASSERT_TRUE(eventually([&] {
    const auto before = inbox.size();
    write(outbox, placed());
    ++count;
    return !eventually([&] { return inbox.size() > before; }, milliseconds(200));
  }));
  const auto delivered = inbox.size();
  for (int i = 0; i < 10; ++i, ++count) write(outbox, placed());
  EXPECT_EQ(stats().pending, count - delivered);
  EXPECT_TRUE(admin.resume_table(table).value());
  ASSERT_TRUE(settles_to(count));
  EXPECT_EQ(inbox.size(), count);
}

TEST_F(PostgresOperating, StraysAreJudgedByTheShardsOfTheOutboxNotByWhoLooks) {
  auto settings = database->options();
  settings.shards = 32;
  const auto wide = postgres::open(database->url(), settings).value();
  auto outbox = Outbox::writer_only(*wide, defaults()).value();
  for (int i = 0; i < 64; ++i) {
    wide->transaction([&](OwnedTransaction& tx) { return outbox.write(tx, placed()); }).value();
  }
  ASSERT_NE(database->sql("SELECT count(*) FROM " + outbox_table() + " WHERE shard >= 16")[0], "0");
  EXPECT_TRUE(store->outbox_admin().strays(table, 100)->empty());
  database->sql("UPDATE " + database->schema() + ".outbox SET shards = 16 WHERE name = 'orders'");
  EXPECT_FALSE(store->outbox_admin().strays(table, 100)->empty());
}

TEST_F(PostgresOperating, StopHandsItsShardsOverAtOnce) {
  auto options = quick();
  // Longer than anything here waits; the other looks for shards every fifteenth of it.
  options.lease = std::chrono::minutes(2);
  std::atomic<bool> release{false};
  auto first = started(
      *store,
      [&](const Delivery& d) {
        while (!release) std::this_thread::sleep_for(milliseconds(1));
        inbox.add(d);
        return done();
      },
      options);
  ASSERT_TRUE(eventually([&] { return first.snapshot().shards_owned == shard_count; }));
  for (int i = 0; i < 200; ++i) write(first, placed("{}", "k" + std::to_string(i % 7)));
  const auto other_store = open();
  Inbox other;
  auto second = started(
      *other_store,
      [&](const Delivery& d) {
        other.add(d);
        return done();
      },
      options);
  release = true;
  first.stop().value();
  ASSERT_TRUE(settles_to(200));
  EXPECT_TRUE(eventually([&] { return second.snapshot().shards_owned == shard_count; }));
  EXPECT_EQ(inbox.size() + other.size(), 200U) << "what ran was settled, and nothing ran twice";
  for (const auto& received : other.all()) EXPECT_EQ(received.attempt, 1U);
}

TEST_F(PostgresOperating, MessageWithoutAKeyTakesTheHotPathAndOneWithAKeyDoesNot) {
  testing::RecordingMetrics metrics;
  auto options = quick();
  options.metrics = &metrics;
  options.poll_interval = std::chrono::hours(1);
  auto outbox = started(*store, into_inbox(), options);
  ASSERT_TRUE(eventually([&] { return outbox.snapshot().shards_owned == shard_count; }));
  for (int i = 0; i < 20; ++i) write(outbox, placed("{}", "k"));
  ASSERT_TRUE(settles_to(20));
  EXPECT_EQ(metrics.counter_sum("outbox_hot_enqueued_total"), 0);
  for (int i = 0; i < 50; ++i) write(outbox, placed());
  ASSERT_TRUE(settles_to(70));
  EXPECT_GT(metrics.counter_sum("outbox_hot_enqueued_total"), 0)
      << "a read may be faster now and then, not always";
  EXPECT_EQ(inbox.times_by_id().size(), 70U);
  EXPECT_EQ(inbox.size(), 70U);
}

}  // namespace
}  // namespace sagabox::integration
