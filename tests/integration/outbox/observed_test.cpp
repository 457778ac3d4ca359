#include "integration/outbox/world.hpp"

#include <atomic>
#include <stdexcept>

namespace sagabox::integration {
namespace {

constexpr const char* secret = R"({"card":"4111-1111-1111-1111"})";

class ObservedTest : public OutboxWorld {
 protected:
  std::vector<testing::RecordingLogger::Line> lines(std::string_view event) const {
    std::vector<testing::RecordingLogger::Line> found;
    for (const auto& line : log.lines()) {
      if (line.event == event) found.push_back(line);
    }
    return found;
  }
  double of_topic(const char* name, const char* result) const {
    return metrics.counter_value(name, {{"table", "orders"}, {"topic", topic}, {"result", result}});
  }
  double of_topic(const char* name) const {
    return metrics.counter_value(name, {{"table", "orders"}, {"topic", topic}});
  }
  std::size_t attempts(const char* result) const {
    return metrics
        .observations("outbox_dispatch_seconds",
                      {{"table", "orders"}, {"topic", topic}, {"result", result}})
        .size();
  }
};

TEST_F(ObservedTest, LifeOfADeliveredMessageIsCounted) {
  auto outbox = running(into_inbox(), watched());
  for (int number = 0; number < 5; ++number) write(outbox, placed());
  ASSERT_TRUE(settles_to(5));
  ASSERT_TRUE(eventually([&] { return of_topic("outbox_dispatched_total", "done") == 5; }));
  EXPECT_EQ(metrics.counter_value("outbox_enqueued_total", {{"table", "orders"}, {"topic", topic}}),
            5);
  EXPECT_EQ(counted("outbox_hot_enqueued_total") + counted("outbox_cold_enqueued_total"), 5);
  EXPECT_EQ(metrics.observations("outbox_latency_seconds", {{"table", "orders"}}).size(), 5U);
  EXPECT_EQ(attempts("done"), 5U);
  EXPECT_EQ(of_topic("outbox_done_after_retry_total"), 0);
  EXPECT_GE(
      metrics.counter_value("outbox_settle_batches_total", {{"table", "orders"}, {"result", "ok"}}),
      1);
  EXPECT_EQ(counted("outbox_safety_rows_total"), 0);
  EXPECT_EQ(metrics.gauge_value("ownership_shards", {{"scope", "outbox:orders"}}), 16);
}

TEST_F(ObservedTest, WhatIsDeliveredAfterARetryIsCounted) {
  auto outbox = running(
      [](const Delivery& d) { return d.attempt() < 3 ? retry("not yet") : done(); }, watched());
  for (int number = 0; number < 2; ++number) write(outbox, placed());
  ASSERT_TRUE(settles_to(2));
  EXPECT_TRUE(eventually([&] { return of_topic("outbox_done_after_retry_total") == 2; }));
  EXPECT_EQ(of_topic("outbox_dispatched_total", "done"), 2);
  EXPECT_EQ(attempts("done"), 2U);
  EXPECT_EQ(attempts("failed"), 4U);
}

TEST_F(ObservedTest, RetriesAndDeathsAreCountedByResultAndCode) {
  auto options = watched();
  options.retry.attempts_max = 3;
  auto outbox = running([](const Delivery&) { return retry("down"); }, options);
  write(outbox, placed());
  ASSERT_TRUE(settles_to(0, 1));
  ASSERT_TRUE(eventually([&] { return of_topic("outbox_dispatched_total", "dead") == 1; }));
  EXPECT_EQ(of_topic("outbox_dispatched_total", "retry"), 2);
  EXPECT_EQ(attempts("failed"), 3U);
  EXPECT_TRUE(eventually([&] {
    return metrics.counter_value(
               "outbox_dead_total",
               {{"table", "orders"}, {"topic", topic}, {"code", "TX.HANDLER_FAILED"}}) == 1;
  })) << "once, when it enters";
}

TEST_F(ObservedTest, GaugesShowWhatIsInHand) {
  auto options = watched();
  options.workers = 1;
  auto outbox = running(
      [&](const Delivery&) {
        barrier.wait();
        return done();
      },
      options);
  for (int number = 0; number < 4; ++number) write(outbox, placed());
  const auto gauge = [&](const char* name) {
    return metrics.gauge_value(name, {{"table", "orders"}});
  };
  const auto depth = [&](const char* queue) {
    return metrics.gauge_value("outbox_queue_depth", {{"table", "orders"}, {"queue", queue}});
  };
  EXPECT_TRUE(eventually([&] {
    return gauge("outbox_in_flight") == 1 && depth("hot") + depth("cold") == 3 &&
           gauge("outbox_queue_bytes") > 0;
  }));
  barrier.open();
  EXPECT_TRUE(eventually([&] {
    return gauge("outbox_in_flight") == 0 && depth("hot") + depth("cold") == 0 &&
           gauge("outbox_queue_bytes") == 0;
  }));
}

TEST_F(ObservedTest, StoreTellsWhatWaitsWhatIsDeadAndHowOldTheOldestIs) {
  auto outbox = running(
      [&](const Delivery& d) {
        if (d.payload().view() == "0") return reject("never");
        barrier.wait();
        return done();
      },
      watched());
  for (const auto* payload : {"0", "1", "2", "3"}) write(outbox, placed(payload));
  const auto gauge = [&](const char* name) {
    return metrics.gauge_value(name, {{"table", "orders"}});
  };
  EXPECT_TRUE(eventually([&] {
    return gauge("outbox_pending") == 3 && gauge("outbox_dead") == 1 &&
           gauge("outbox_oldest_seconds") > 0;
  }));
  barrier.open();
  EXPECT_TRUE(eventually(
      [&] { return gauge("outbox_pending") == 0 && gauge("outbox_oldest_seconds") == 0; }));
  EXPECT_EQ(gauge("outbox_dead"), 1);
}

TEST_F(ObservedTest, ErrorsAreCountedByCode) {
  std::atomic<bool> settle_failed{false};
  std::atomic<bool> read_failed{false};
  store.set_faults([&](memory::Operation operation) {
    if (operation == memory::Operation::settle && !settle_failed.exchange(true)) {
      return memory::Fault::lost_after;
    }
    if (operation == memory::Operation::read && !read_failed.exchange(true)) {
      return memory::Fault::refused;
    }
    return memory::Fault::none;
  });
  auto options = watched();
  options.retry.attempts_max = 3;
  options.dispatch_timeout = milliseconds(500);
  auto outbox = running(
      [&](const Delivery& d) {
        if (d.payload().view() == R"("never")") return reject("never");
        if (d.payload().view() == R"("down")") return retry("down");
        if (d.payload().view() == R"("slow")" && d.attempt() == 1) {
          (void)eventually([&] { return d.stop_token().stop_requested(); });
          return retry("told to stop");
        }
        return done();
      },
      options);
  for (const auto* payload : {R"("never")", R"("down")", R"("slow")", R"("good")"}) {
    write(outbox, placed(payload));
  }
  ASSERT_TRUE(settles_to(2, 2));
  const auto errors = [&](const char* code, const char* retryable, const char* severity) {
    return metrics.counter_value(
        "errors_total", {{"code", code}, {"retryable", retryable}, {"severity", severity}});
  };
  EXPECT_EQ(errors("TX.HANDLER_FAILED", "true", "warning"), 3) << "each attempt, the last too";
  EXPECT_EQ(errors("PROVIDER.REJECTED", "false", "error"), 1);
  EXPECT_EQ(errors("TX.TIMEOUT", "true", "warning"), 1) << "once, though it also failed";
  EXPECT_EQ(errors("STORAGE.IN_DOUBT", "false", "critical"), 1) << "the settle";
  EXPECT_EQ(errors("STORAGE.UNAVAILABLE", "true", "critical"), 1) << "the read";
  EXPECT_EQ(counted("errors_total"), 7);
}

TEST_F(ObservedTest, MessageFoundDeadIsCountedAndKeepsItsLastError) {
  {
    auto options = defaults();
    options.retry.backoff_min = options.retry.backoff_max = milliseconds(100);
    options.retry.attempts_max = 10;
    std::atomic<int> failed{0};
    auto outbox = running(
        [&](const Delivery&) {
          ++failed;
          return retry("no answer");
        },
        options);
    write(outbox, placed());
    ASSERT_TRUE(eventually([&] { return failed.load() >= 2; }));
  }
  auto lowered = watched();
  lowered.retry.attempts_max = 2;
  auto outbox = running(into_inbox(), lowered);
  ASSERT_TRUE(settles_to(0, 1));
  EXPECT_EQ(inbox.size(), 0U);
  EXPECT_EQ(rows()[0].error, "no answer");
  EXPECT_EQ(rows()[0].code, Code::tx_handler_failed);
  EXPECT_EQ(metrics.counter_value(
                "errors_total",
                {{"code", "TX.DEADLETTER"}, {"retryable", "false"}, {"severity", "error"}}),
            1);
  const auto dead = lines("message is dead");
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_NE(dead[0].fields.at("error").find(" of 2) without a final result"), std::string::npos)
      << dead[0].fields.at("error");
}

TEST_F(ObservedTest, AuditTellsTheStoryInTheSourcesWords) {
  auto outbox = running([](const Delivery& d) { return d.attempt() == 1 ? retry("down") : done(); },
                        watched());
  auto draft = placed(secret);
  draft.tenant = "acme";
  draft.trace.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const auto written = write(outbox, draft);
  ASSERT_TRUE(settles_to(1));
  std::vector<std::string> story;
  for (const auto& event : audit.events()) {
    story.emplace_back(audit_name(event.kind));
    EXPECT_EQ(event.table, "orders");
    EXPECT_EQ(event.tenant, "acme");
    EXPECT_EQ(event.topic, topic);
    EXPECT_EQ(event.message_id, written.id.str());
    EXPECT_EQ(event.traceparent, draft.trace.traceparent);
    EXPECT_EQ(event.digest, sha256(secret));
    EXPECT_EQ(event.detail.find("4111"), std::string::npos);
  }
  EXPECT_EQ(story, (std::vector<std::string>{"TxOutboxEnqueued", "TxOutboxFailed", "Retry",
                                             "Backoff", "TxOutboxDispatched"}));
}

TEST_F(ObservedTest, AuditOfADeadLetterCarriesItsCode) {
  auto outbox = running([](const Delivery&) { return reject("never"); }, watched());
  write(outbox, placed());
  ASSERT_TRUE(settles_to(0, 1));
  ASSERT_EQ(audit.count(AuditKind::dead_letter), 1U);
  EXPECT_EQ(audit.count(AuditKind::retry), 0U);
  EXPECT_EQ(audit.events().back().code, "PROVIDER.REJECTED");
}

TEST_F(ObservedTest, LinesOfADispatchSayWhichMessageAndNeverItsPayload) {
  auto options = watched();
  options.retry.attempts_max = 2;
  auto outbox = running(
      [](const Delivery& d) -> Outcome {
        throw std::runtime_error("cannot send " + std::string(d.payload().view()));
      },
      options);
  auto draft = placed(secret);
  draft.tenant = "acme";
  const auto written = write(outbox, draft);
  ASSERT_TRUE(settles_to(0, 1));
  const auto failed = lines("attempt failed");
  const auto dead = lines("message is dead");
  ASSERT_EQ(failed.size(), 1U);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].level, LogLevel::error);
  EXPECT_EQ(dead[0].fields.at("table"), "orders");
  EXPECT_EQ(dead[0].fields.at("topic"), topic);
  EXPECT_EQ(dead[0].fields.at("message"), written.id.str());
  EXPECT_EQ(dead[0].fields.at("tenant"), "acme");
  EXPECT_EQ(dead[0].fields.at("sequence"), std::to_string(written.sequence.value));
  EXPECT_EQ(dead[0].fields.at("attempts"), "2");
  EXPECT_EQ(dead[0].fields.at("code"), "TX.HANDLER_FAILED");
  for (const auto& line : log.lines()) {
    for (const auto& [name, value] : line.fields) {
      EXPECT_EQ(value.find("4111"), std::string::npos) << line.event << " " << name;
    }
  }
  EXPECT_EQ(rows()[0].error.find("4111"), std::string::npos);
}

TEST_F(ObservedTest, DeadlineIsLogged) {
  auto options = watched();
  options.dispatch_timeout = milliseconds(20);
  auto outbox = running(
      [&](const Delivery& d) {
        (void)eventually([&] { return d.stop_token().stop_requested(); });
        return done();
      },
      options);
  write(outbox, placed());
  ASSERT_TRUE(settles_to(1));
  const auto late = lines("handler is past its deadline and was told to stop");
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].level, LogLevel::warning);
  EXPECT_EQ(late[0].fields.at("topic"), topic);
}

}  // namespace
}  // namespace sagabox::integration
