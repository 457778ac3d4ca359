#include "integration/outbox/world.hpp"

#include <stdexcept>

namespace sagabox::integration {
namespace {

using State = memory::Inspected::State;

class FailureTest : public OutboxWorld {};

TEST_F(FailureTest, IsRetriedUntilItSucceeds) {
  auto outbox = running(
      [&](const Delivery& d) -> Outcome {
        inbox.add(d);
        if (d.attempt() == 1) throw std::runtime_error("no answer");
        if (d.attempt() == 2) return retry("no answer");
        return done();
      },
      watched());
  write(outbox, placed());
  ASSERT_TRUE(settles_to(1));
  std::vector<std::uint32_t> attempts;
  for (const auto& received : inbox.all()) attempts.push_back(received.attempt);
  EXPECT_EQ(attempts, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(rows()[0].row.attempts, 3U);
  EXPECT_EQ(outbox.snapshot().retried, 2U);
  EXPECT_EQ(counted("outbox_retries_total"), 2);
}

TEST_F(FailureTest, ExhaustedAttemptsAreDeadWithCodeAndError) {
  auto options = watched();
  options.retry.attempts_max = 3;
  auto outbox = running(
      [&](const Delivery& d) -> Outcome {
        inbox.add(d);
        throw std::runtime_error("no answer from https://bob:hunter2@mail/");
      },
      options);
  write(outbox, placed());
  ASSERT_TRUE(settles_to(0, 1));
  EXPECT_EQ(inbox.size(), 3U);
  const auto row = rows().at(0);
  EXPECT_EQ(row.state, State::dead);
  EXPECT_EQ(row.code, Code::tx_handler_failed);
  EXPECT_EQ(row.row.attempts, 3U);
  EXPECT_NE(row.error.find("no answer"), std::string::npos);
  EXPECT_EQ(row.error.find("hunter2"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return outbox.snapshot().dead == 1; }));
}

TEST_F(FailureTest, RejectedIsDeadAtOnce) {
  auto outbox = running(
      [&](const Delivery& d) {
        inbox.add(d);
        return reject("no such customer");
      },
      watched());
  write(outbox, placed());
  ASSERT_TRUE(settles_to(0, 1));
  EXPECT_EQ(inbox.size(), 1U);
  EXPECT_EQ(rows()[0].code, Code::provider_rejected);
  EXPECT_EQ(rows()[0].error, "no such customer");
}

TEST_F(FailureTest, UnroutableIsDeadAtOnceWhereThatIsWanted) {
  auto options = watched();
  options.unroutable = Unroutable::dead;
  auto outbox = running(into_inbox(), options);
  write(outbox, {.topic = "orders.order.unknown.v1", .payload = json("{}")});
  auto other_type = placed();
  other_type.aggregate_type = "Order";
  write(outbox, other_type);
  ASSERT_TRUE(settles_to(0, 2));
  EXPECT_EQ(inbox.size(), 0U);
  for (const auto& row : rows()) {
    EXPECT_EQ(row.code, Code::tx_unroutable);
    EXPECT_EQ(row.row.attempts, 1U);
    EXPECT_NE(row.error.find("no listener for topic"), std::string::npos);
  }
  EXPECT_TRUE(eventually([&] { return counted("outbox_dead_total") == 2; }));
  EXPECT_EQ(metrics.counter_value("outbox_dead_total", {{"table", "orders"},
                                                        {"topic", "orders.order.unknown.v1"},
                                                        {"code", "TX.UNROUTABLE"}}),
            1);
}

TEST_F(FailureTest, UndecodableRowIsDeadAtOnceAndStopsNobody) {
  auto outbox = Outbox::single_process(store, watched()).value();
  outbox.listen(topic, into_inbox()).value();
  const auto broken = write(outbox, placed("1"));
  write(outbox, placed("2"));
  ASSERT_TRUE(store.corrupt(TableName::parse("orders").value(), broken.sequence).ok());
  outbox.start().value();
  ASSERT_TRUE(settles_to(1, 1));
  EXPECT_EQ(inbox.all()[0].payload, "2");
  EXPECT_EQ(rows()[0].code, Code::schema_validation_failed);
  EXPECT_TRUE(eventually([&] { return outbox.snapshot().unsettled == 0; }));
  EXPECT_EQ(audit.count(AuditKind::dead_letter), 1U);
}

TEST_F(FailureTest, UnspentAttemptsMayBeManyAndTheDelayIsTheHandlers) {
  auto options = watched();
  options.retry.attempts_max = 2;
  options.retry.backoff_min = options.retry.backoff_max = std::chrono::hours(1);
  auto outbox = running(
      [&](const Delivery& d) {
        inbox.add(d);
        return inbox.size() < 6 ? retry_after(milliseconds(1), Attempt::not_spent) : done();
      },
      options);
  write(outbox, placed());
  ASSERT_TRUE(settles_to(1));
  for (const auto& received : inbox.all()) EXPECT_EQ(received.attempt, 1U);
}

TEST_F(FailureTest, FailingHeadBlocksItsKeyAndNoOther) {
  std::atomic<bool> healed{false};
  auto options = watched();
  options.retry.attempts_max = 1000;
  auto outbox = running(
      [&](const Delivery& d) -> Outcome {
        if (d.key() == "a" && d.payload().view() == "1" && !healed.load()) return retry("down");
        inbox.add(d);
        return done();
      },
      options);
  for (const std::string payload : {"1", "2", "3"}) write(outbox, placed(payload, "a"));
  for (const std::string payload : {"1", "2", "3"}) write(outbox, placed(payload, "b"));
  ASSERT_TRUE(eventually([&] { return stats().done == 3; }));
  EXPECT_TRUE(inbox.payloads_of_key("a").empty());
  EXPECT_TRUE(eventually([&] { return outbox.snapshot().blocked_keys == 1; }));
  healed.store(true);
  ASSERT_TRUE(settles_to(6));
  EXPECT_EQ(inbox.payloads_of_key("a"), (std::vector<std::string>{"1", "2", "3"}));
}

TEST_F(FailureTest, DeadHeadLetsItsKeyGoOn) {
  auto outbox = running(
      [&](const Delivery& d) -> Outcome {
        inbox.add(d);
        return d.payload().view() == "1" ? reject("never") : done();
      },
      watched());
  for (const std::string payload : {"1", "2", "3"}) write(outbox, placed(payload, "a"));
  ASSERT_TRUE(settles_to(2, 1));
  EXPECT_EQ(inbox.payloads_of_key("a"), (std::vector<std::string>{"1", "2", "3"}));
}

TEST_F(FailureTest, ParkedHeadIsQuarantinedAndItsKeyGoesOn) {
  auto options = watched();
  options.head_policy = HeadPolicy::park;
  auto outbox = running(
      [&](const Delivery& d) -> Outcome {
        inbox.add(d);
        return d.payload().view() == "1" ? retry("not now") : done();
      },
      options);
  for (const std::string payload : {"1", "2"}) write(outbox, placed(payload, "a"));
  ASSERT_TRUE(eventually([&] { return stats().quarantined == 1 && stats().done == 1; }));
  EXPECT_EQ(rows()[0].state, State::quarantined);
  EXPECT_EQ(inbox.size(), 2U);
}

TEST_F(FailureTest, SkippedHeadIsRetriedBesideTheOthers) {
  auto options = watched();
  options.head_policy = HeadPolicy::skip;
  options.retry.backoff_min = options.retry.backoff_max = milliseconds(300);
  auto outbox = running(
      [&](const Delivery& d) -> Outcome {
        inbox.add(d);
        return d.payload().view() == "1" && d.attempt() == 1 ? retry("not now") : done();
      },
      options);
  for (const std::string payload : {"1", "2"}) write(outbox, placed(payload, "a"));
  ASSERT_TRUE(settles_to(2));
  EXPECT_EQ(inbox.payloads_of_key("a"), (std::vector<std::string>{"1", "2", "1"}));
}

TEST_F(FailureTest, HandlerPastItsDeadlineIsToldASpareTakesOverAndALateDoneCounts) {
  auto options = watched();
  options.workers = 1;
  options.spare_workers_max = 1;
  options.dispatch_timeout = milliseconds(50);
  std::atomic<bool> told{false};
  auto outbox = running(
      [&](const Delivery& d) {
        inbox.add(d);
        if (d.payload().view() != "1") return done();
        told.store(eventually([&] { return d.stop_token().stop_requested(); }));
        barrier.wait();
        return done();
      },
      options);
  write(outbox, placed("1", "a"));
  ASSERT_TRUE(eventually([&] { return told.load(); }));
  ASSERT_TRUE(eventually([&] { return rows()[0].row.attempts == 1; })) << "the attempt is recorded";
  EXPECT_EQ(rows()[0].code, Code::tx_timeout);
  write(outbox, placed("2", "a"));
  for (int number = 0; number < 5; ++number) write(outbox, placed("3"));
  ASSERT_TRUE(eventually([&] { return stats().done == 5; })) << "by the spare";
  EXPECT_EQ(outbox.snapshot().spare_workers, 1U);
  EXPECT_EQ(inbox.payloads_of_key("a"), std::vector<std::string>{"1"}) << "its key waits";
  barrier.open();
  ASSERT_TRUE(settles_to(7));
  EXPECT_EQ(inbox.size(), 7U) << "the late done counts";
  EXPECT_EQ(counted("outbox_timeouts_total"), 1);
  EXPECT_TRUE(eventually([&] { return outbox.snapshot().spare_workers == 0; }));
  EXPECT_TRUE(outbox.stop().ok());
}

TEST_F(FailureTest, LateFailureIsATimeout) {
  auto options = watched();
  options.dispatch_timeout = milliseconds(20);
  options.retry.attempts_max = 1;
  auto outbox = running(
      [&](const Delivery& d) {
        (void)eventually([&] { return d.stop_token().stop_requested(); });
        return retry("gave up");
      },
      options);
  write(outbox, placed());
  ASSERT_TRUE(settles_to(0, 1));
  EXPECT_EQ(rows()[0].code, Code::tx_timeout);
  EXPECT_EQ(rows()[0].row.attempts, 1U) << "recorded at the deadline, not counted twice";
}

TEST_F(FailureTest, SparesAreBoundedAndComeBackAgainAndAgain) {
  auto options = watched();
  options.workers = 2;
  options.spare_workers_max = 2;
  options.dispatch_timeout = milliseconds(20);
  std::atomic<int> at_once{0};
  std::atomic<int> most{0};
  auto outbox = running(
      [&](const Delivery& d) {
        const int now = at_once.fetch_add(1) + 1;
        for (int seen = most.load(); now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        if (d.payload().view() == "1") {
          (void)eventually([&] { return d.stop_token().stop_requested(); });
          std::this_thread::yield();
        }
        at_once.fetch_sub(1);
        return done();
      },
      options);
  for (int round = 0; round < 10; ++round) {
    for (int number = 0; number < 3; ++number) write(outbox, placed("1"));
    write(outbox, placed("2"));
  }
  ASSERT_TRUE(settles_to(40));
  EXPECT_LE(most.load(), 4);
  EXPECT_TRUE(outbox.stop().ok());
}

TEST_F(FailureTest, StoreThatFailsNowAndThenLosesNothing) {
  auto outbox = running(into_inbox(), watched());
  const auto random = seeded_random(1);
  std::atomic<bool> settle_failed{false};
  store.set_faults([&](memory::Operation operation) {
    if (operation == memory::Operation::settle && !settle_failed.exchange(true)) {
      return memory::Fault::lost_after;
    }
    const bool reading = operation == memory::Operation::read ||
                         operation == memory::Operation::read_due ||
                         operation == memory::Operation::settle;
    if (!reading) return memory::Fault::none;
    switch (random->below(4)) {
      case 0:
        return memory::Fault::refused;
      case 1:
        return memory::Fault::lost_after;
      default:
        return memory::Fault::none;
    }
  });
  for (int number = 0; number < 200; ++number) {
    write(outbox, placed(std::to_string(1000 + number), number % 2 == 0 ? "a" : ""));
  }
  ASSERT_TRUE(settles_to(200));
  store.set_faults({});
  EXPECT_EQ(inbox.times_by_id().size(), 200U);
  EXPECT_EQ(inbox.size(), 200U) << "a settle in doubt is repeated, not the delivery";
  const auto order = inbox.payloads_of_key("a");
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_GT(log.count("settle failed, will be sent again"), 0U);
}

TEST_F(FailureTest, FailOverToAnOlderStateStartsAsNewAndDeliversWhatIsThere) {
  auto outbox = running(into_inbox(), watched());
  write(outbox, placed("1"));
  ASSERT_TRUE(settles_to(1));
  store.checkpoint();
  write(outbox, placed("2"));
  ASSERT_TRUE(settles_to(2));
  ASSERT_TRUE(store.fail_over());
  ASSERT_TRUE(eventually([&] { return outbox.snapshot().shards_owned == 16; }));
  write(outbox, placed("3"));
  ASSERT_TRUE(eventually([&] {
    const auto all = inbox.all();
    return std::any_of(all.begin(), all.end(), [](const auto& r) { return r.payload == "3"; });
  }));
  EXPECT_TRUE(settles_to(2)) << "2 was lost with the old server";
}

}  // namespace
}  // namespace sagabox::integration
