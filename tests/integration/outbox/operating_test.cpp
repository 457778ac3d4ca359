#include "integration/outbox/world.hpp"

#include <sagabox/admin.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace sagabox::integration {
namespace {

/// A running outbox, and somebody who operates it.
class OperatingTest : public OutboxWorld {
 protected:
  static OutboxOptions quick() {
    auto options = defaults();
    options.control_interval = milliseconds(5);
    options.purge_interval = milliseconds(5);
    return options;
  }
  std::vector<MessageId> dead_ids() {
    std::vector<MessageId> ids;
    const auto page = admin.list(table, {.state = MessageState::dead}).value();
    for (const auto& row : page.rows) ids.push_back(row.id);
    return ids;
  }
  /// Delivers nothing that says "broken" until it is mended.
  Listener breakable() {
    return [this](const Delivery& d) {
      if (d.payload().view() == R"("broken")" && !mended) return reject("broken");
      inbox.add(d);
      return done();
    };
  }

  TableName table = TableName::parse("orders").value();
  Admin admin = Admin::open(store, {.actor = "night shift"}).value();
  std::atomic<bool> mended{false};
};

TEST_F(OperatingTest, DeadMessageIsReplayedAndDelivered) {
  auto outbox = running(breakable(), quick());
  const auto written = write(outbox, placed(R"("broken")"));
  ASSERT_TRUE(settles_to(0, 1));
  mended = true;
  const auto moved = admin.replay(table, std::vector{written.id}).value();
  EXPECT_TRUE(moved.front().moved);
  ASSERT_TRUE(settles_to(1));
  ASSERT_EQ(inbox.size(), 1U);
  EXPECT_EQ(inbox.all().front().attempt, 1U) << "it begins anew";
  EXPECT_GT(inbox.all().front().sequence, written.sequence.value);
}

TEST_F(OperatingTest, ReplayJobOfManyIsRunByTheRelay) {
  constexpr std::size_t many = 1'200;
  auto options = watched(quick());
  auto outbox = running(breakable(), options);
  for (std::size_t number = 0; number < many; ++number) {
    write(outbox, placed(R"("broken")", "key-" + std::to_string(number % 50)));
  }
  ASSERT_TRUE(settles_to(0, many));
  mended = true;
  const auto job = admin.start_replay(table, {.from = MessageState::dead}).value();
  EXPECT_EQ(job.matched, many);
  ASSERT_TRUE(settles_to(many));
  ASSERT_TRUE(eventually(
      [&] { return admin.job(table, job.id).value().state == ReplayJob::State::finished; }));
  EXPECT_EQ(admin.job(table, job.id).value().replayed, many);
  EXPECT_EQ(inbox.size(), many);
  EXPECT_EQ(counted("replay_total"), many);
}

TEST_F(OperatingTest, MessageThatDiesAgainIsCountedAsDeadOnce) {
  auto outbox = running(breakable(), watched(quick()));
  const auto written = write(outbox, placed(R"("broken")"));
  ASSERT_TRUE(settles_to(0, 1));
  admin.replay(table, std::vector{written.id}).value();
  ASSERT_TRUE(eventually([&] {
    const auto now = admin.inspect(table, written.id).value();
    return now->state == MessageState::dead && now->replays == 1;
  }));
  ASSERT_TRUE(eventually([&] { return outbox.snapshot().dead == 2; }));
  EXPECT_EQ(counted("outbox_dead_total"), 1);
}

TEST_F(OperatingTest, PausedTableDeliversNothingAndLosesNothing) {
  auto outbox = running(into_inbox(), quick());
  ASSERT_TRUE(admin.pause_table(table).value());
  ASSERT_TRUE(eventually([&] { return outbox.snapshot().table_paused; }));
  for (int number = 0; number < 100; ++number) write(outbox, placed());
  write(outbox, placed("{}", "key"));
  EXPECT_EQ(stats().pending, 101U);
  EXPECT_EQ(inbox.size(), 0U);
  EXPECT_EQ(outbox.snapshot().hot_depth, 0U) << "the hot path waits, too";
  ASSERT_TRUE(admin.resume_table(table).value());
  EXPECT_TRUE(settles_to(101));
}

TEST_F(OperatingTest, EndOfAPauseDoesNotWaitForTheNextPoll) {
  auto options = quick();
  options.poll_interval = seconds(600);
  auto outbox = running(into_inbox(), options);
  ASSERT_TRUE(admin.pause_table(table).value());
  ASSERT_TRUE(eventually([&] { return outbox.snapshot().table_paused; }));
  write(outbox, placed());
  write(outbox, placed("{}", "key"));
  ASSERT_TRUE(admin.resume_table(table).value());
  EXPECT_TRUE(settles_to(2));
}

TEST_F(OperatingTest, PauseHoldsForARelayThatStartsLater) {
  auto writer = Outbox::writer_only(store, quick()).value();
  write(writer, placed());
  ASSERT_TRUE(admin.pause_table(table).value());
  {
    auto outbox = running(into_inbox(), quick());
    ASSERT_TRUE(eventually([&] { return outbox.snapshot().table_paused; }));
    outbox.stop().value();
  }
  EXPECT_EQ(inbox.size(), 0U);
  ASSERT_TRUE(admin.resume_table(table).value());
  auto outbox = running(into_inbox(), quick());
  EXPECT_TRUE(settles_to(1));
}

TEST_F(OperatingTest, PausedTopicWaitsWhileOthersGo) {
  auto options = quick();
  auto outbox = Outbox::single_process(store, options).value();
  outbox.listen("held", into_inbox()).value();
  outbox.listen("free", into_inbox()).value();
  ASSERT_TRUE(admin.pause_topic(table, "held").value());
  outbox.start().value();
  for (int number = 0; number < 20; ++number) {
    write(outbox, {.topic = "held", .payload = json("1")});
    write(outbox, {.topic = "free", .payload = json("2")});
  }
  ASSERT_TRUE(eventually([&] { return stats().done == 20; }));
  for (const auto& received : inbox.all()) EXPECT_EQ(received.payload, "2");
  EXPECT_EQ(stats().pending, 20U);
  ASSERT_TRUE(admin.resume_topic(table, "held").value());
  EXPECT_TRUE(settles_to(40));
}

TEST_F(OperatingTest, QuarantinedHeadLetsItsKeyGoOn) {
  auto options = quick();
  options.retry.backoff_min = seconds(600);
  options.retry.backoff_max = seconds(600);
  auto outbox = running(
      [this](const Delivery& d) {
        if (d.payload().view() == R"("head")") return retry("not yet");
        inbox.add(d);
        return done();
      },
      options);
  const auto head = write(outbox, placed(R"("head")", "k"));
  ASSERT_TRUE(eventually([&] { return stats().waiting == 1; }));
  EXPECT_EQ(outbox.snapshot().blocked_keys, 1U);
  write(outbox, placed(R"("second")", "k"));
  const auto blocked = admin.blocked_keys(table).value();
  ASSERT_EQ(blocked.keys.size(), 1U);
  EXPECT_EQ(blocked.keys.front().key, "k");
  EXPECT_EQ(blocked.keys.front().head.id, head.id);
  admin.quarantine(table, std::vector{head.id}, "poison, see ticket 17").value();
  ASSERT_TRUE(eventually([&] { return inbox.size() == 1; }));
  EXPECT_EQ(inbox.all().front().payload, R"("second")");
  EXPECT_EQ(stats().quarantined, 1U);
}

TEST_F(OperatingTest, ReleasedMessageIsDelivered) {
  auto options = quick();
  options.head_policy = HeadPolicy::park;
  auto outbox = running(
      [this](const Delivery& d) {
        if (!mended) return retry("not yet");
        inbox.add(d);
        return done();
      },
      options);
  const auto parked = write(outbox, placed("{}", "k"));
  ASSERT_TRUE(eventually([&] { return stats().quarantined == 1; }));
  mended = true;
  EXPECT_TRUE(admin.release(table, std::vector{parked.id}).value().front().moved);
  ASSERT_TRUE(settles_to(1));
  EXPECT_EQ(inbox.all().front().sequence, parked.sequence.value) << "a parked head keeps its own";
}

TEST_F(OperatingTest, DoneMessagesArePurgedByTheRetentionAndDeadOnesAreKept) {
  auto options = watched(quick());
  options.retention = milliseconds(1);
  auto outbox = running(breakable(), options);
  for (int number = 0; number < 30; ++number) write(outbox, placed());
  write(outbox, placed(R"("broken")"));
  ASSERT_TRUE(eventually([&] {
    const auto now = stats();
    return now.pending == 0 && now.done == 0 && now.dead == 1;
  }));
  EXPECT_EQ(inbox.size(), 30U);
  ASSERT_TRUE(eventually([&] { return counted("outbox_purged_total") == 30; }));
}

TEST_F(OperatingTest, RetentionOfNothingPurgesWhatAnEarlierSettingKept) {
  {
    auto outbox = running(into_inbox(), quick());
    write(outbox, placed());
    ASSERT_TRUE(settles_to(1));
    outbox.stop().value();
  }
  auto options = quick();
  options.retention = Duration{};
  auto outbox = running(into_inbox(), options);
  EXPECT_TRUE(settles_to(0));
}

TEST_F(OperatingTest, DeadMessagesArePurgedWhenToldSo) {
  auto options = quick();
  options.dead_retention = milliseconds(1);
  auto outbox = running(breakable(), options);
  write(outbox, placed(R"("broken")"));
  EXPECT_TRUE(eventually([&] { return stats().dead == 0 && stats().pending == 0; }));
}

TEST_F(OperatingTest, TableOfAnExternalReaderIsPurgedByAge) {
  auto options = quick();
  options.retention = milliseconds(1);
  auto outbox = Outbox::for_external_reader(store, options).value();
  write(outbox, placed());
  EXPECT_EQ(stats().pending, 1U) << "nothing is purged before start()";
  outbox.start().value();
  EXPECT_TRUE(eventually([&] { return stats().pending == 0; }));
  EXPECT_EQ(stats().done, 0U);
  outbox.stop().value();
  options.retention = Duration{};
  const auto refused = Outbox::for_external_reader(store, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text(),
            "CONFIG.INVALID: retention is 0; for_external_reader deletes messages of that age, so "
            "say how long the reader may take");
}

TEST_F(OperatingTest, PausedRelayGivesItsShardsToOthersAndComesBack) {
  auto options = quick();
  options.lease = seconds(2);
  const auto open = [&] {
    auto outbox = Outbox::several_processes(store, options).value();
    outbox.listen(topic, into_inbox()).value();
    outbox.start().value();
    return outbox;
  };
  auto first = open();
  auto second = open();
  ASSERT_TRUE(eventually(
      [&] { return first.snapshot().shards_owned == 8 && second.snapshot().shards_owned == 8; }));
  first.pause().value();
  ASSERT_TRUE(eventually([&] { return second.snapshot().shards_owned == 16; }));
  EXPECT_TRUE(eventually([&] { return first.snapshot().paused; }));
  write(first, placed());
  EXPECT_TRUE(settles_to(1)) << "the other delivers it";
  first.resume().value();
  EXPECT_TRUE(eventually([&] { return first.snapshot().shards_owned == 8; }));
  EXPECT_FALSE(first.snapshot().paused);
}

TEST_F(OperatingTest, PausedOutboxStopsAtOnceAndLeavesEverythingToOthers) {
  auto options = quick();
  options.drain_timeout = seconds(50);
  const auto stops_soon = [](Outbox& outbox) {
    const auto begun = std::chrono::steady_clock::now();
    outbox.stop().value();
    return std::chrono::steady_clock::now() - begun < seconds(25);
  };
  {
    auto outbox = running(into_inbox(), options);
    outbox.pause().value();
    ASSERT_TRUE(eventually([&] { return outbox.snapshot().paused; }));
    write(outbox, placed());
    EXPECT_TRUE(stops_soon(outbox));
  }
  {
    ASSERT_TRUE(admin.pause_table(table).value());
    auto outbox = running(into_inbox(), options);
    write(outbox, placed("{}", "key"));
    EXPECT_TRUE(stops_soon(outbox));
  }
  EXPECT_EQ(stats().pending, 2U);
  ASSERT_TRUE(admin.resume_table(table).value());
  auto outbox = running(into_inbox(), options);
  EXPECT_TRUE(settles_to(2));
  EXPECT_EQ(inbox.size(), 2U);
}

TEST_F(OperatingTest, PauseNeedsARunningRelay) {
  auto writer = Outbox::writer_only(store, quick()).value();
  EXPECT_EQ(writer.pause().error().text(),
            "TX.INVALID_STATE: pause() needs a relay that runs; call start() first");
  EXPECT_EQ(writer.resume().error().code, Code::tx_invalid_state);
}

TEST_F(OperatingTest, StrayRowIsReportedAndCounted) {
  auto options = watched(quick());
  auto writer = Outbox::writer_only(store, quick()).value();
  const auto stray = write(writer, placed());
  store.misplace(table, stray.sequence).value();
  auto outbox = running(into_inbox(), options);
  ASSERT_TRUE(
      eventually([&] { return metrics.gauge_value("outbox_strays", {{"table", "orders"}}) == 1; }));
  EXPECT_EQ(inbox.size(), 0U);
  EXPECT_EQ(admin.strays(table).value().front().id, stray.id);
}

TEST_F(OperatingTest, WhatHappenedIsInAnAuditLogThatHolds) {
  auto outbox = running(breakable(), quick());
  write(outbox, placed(R"("broken")"));
  ASSERT_TRUE(settles_to(0, 1));
  mended = true;
  admin.replay(table, dead_ids()).value();
  ASSERT_TRUE(settles_to(1));
  const auto report = admin.verify_audit().value();
  EXPECT_EQ(report.problems_found, 0U);
  std::vector<AuditKind> kinds;
  for (const auto& entry : store.audit().read(0, 10).value()) kinds.push_back(entry.event.kind);
  EXPECT_EQ(kinds, (std::vector{AuditKind::dead_letter, AuditKind::replayed}));
}

}  // namespace
}  // namespace sagabox::integration
