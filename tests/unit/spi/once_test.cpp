#include "idempotency/request_purge.hpp"

#include <sagabox/once.hpp>
#include <sagabox/random.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace sagabox {
namespace {

class OnceTest : public ::testing::Test {
 protected:
  OnceTest() { store_.outbox().prepare(table_).value(); }

  std::shared_ptr<const Message> message(std::string id, std::string tenant = "acme") {
    return std::make_shared<const Message>(Message::build({.topic = "orders.order.placed.v1",
                                                           .payload = json("{}"),
                                                           .tenant = std::move(tenant),
                                                           .id = std::move(id)},
                                                          MessageRules{}, ids_, clock_)
                                               .value());
  }
  static Outcome deliver(const Listener& listener, const Message& message) {
    return listener(Delivery({.message = &message}));
  }
  /// Its effect: a message in the same transaction.
  TransactionHandler writing(Outcome outcome = done()) {
    return [this, outcome](const Delivery&, OwnedTransaction& tx) {
      ++calls_;
      const auto effect = message("");
      (void)tx.outbox().insert(table_, std::span(&effect, 1)).value();
      return outcome;
    };
  }
  Listener listener(TransactionHandler handler, std::string consumer = "billing") {
    return once(store_, {.consumer = std::move(consumer), .metrics = &metrics_},
                std::move(handler));
  }
  std::size_t effects() const { return store_.inspect(table_).size(); }

  testing::FakeClock clock_;
  std::unique_ptr<Random> random_ = seeded_random(6);
  UlidSource ids_{clock_, *random_};
  testing::RecordingMetrics metrics_;
  memory::MemoryStore store_{{.clock = &clock_}};
  TableName table_ = TableName::parse("orders").value();
  int calls_ = 0;
};

TEST_F(OnceTest, RepeatedMessageIsDoneWithoutTheHandler) {
  const auto handled = listener(writing());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(deliver(handled, *message("m1")).kind, Outcome::Kind::done);
  }
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(effects(), 1U);
  EXPECT_EQ(metrics_.counter_value("idempotency_hits_total", {{"consumer", "billing"}}), 2);
}

TEST_F(OnceTest, MessageThatIsReplayedAgainAndAgainIsHandledOnce) {
  using std::chrono::hours;
  const auto handled = listener(writing());
  IdempotencyUpkeepOptions options{.interval = hours(1), .clock = &clock_};
  idempotency::RequestPurge purge(store_, options);
  // Each replay comes within the retention of 7 days, which counts from the delivery before.
  for (const auto days : {0, 6, 3, 7, 7}) {
    clock_.advance(hours(24 * days));
    while (purge.step()) {
    }
    EXPECT_EQ(deliver(handled, *message("m1")).kind, Outcome::Kind::done);
  }
  EXPECT_EQ(calls_, 1);
}

TEST_F(OnceTest, KeyThatWasNotRenewedIsKeptForTheWholeWindow) {
  using std::chrono::hours;
  using std::chrono::minutes;
  const auto handled = listener(writing());
  idempotency::RequestPurge purge(store_, {.interval = minutes(1), .clock = &clock_});
  deliver(handled, *message("m1"));
  clock_.advance(minutes(59));
  deliver(handled, *message("m1"));
  clock_.advance(spi::inbox_window_default - minutes(1));
  while (purge.step()) {
  }
  deliver(handled, *message("m1"));
  EXPECT_EQ(calls_, 1);
}

TEST_F(OnceTest, HandlersAndTenantsDoNotHideMessagesFromEachOther) {
  deliver(listener(writing()), *message("m1"));
  deliver(listener(writing(), "shipping"), *message("m1"));
  deliver(listener(writing()), *message("m1", "umbrella"));
  EXPECT_EQ(effects(), 3U);
}

TEST_F(OnceTest, WhatIsNotDoneLeavesNothingAndIsTriedAgain) {
  EXPECT_EQ(deliver(listener(writing(retry("no stock"))), *message("m1")).kind,
            Outcome::Kind::retry);
  EXPECT_EQ(deliver(listener(writing(reject("never"))), *message("m1")).kind,
            Outcome::Kind::reject);
  const auto throwing = listener(
      [](const Delivery&, OwnedTransaction&) -> Outcome { throw std::runtime_error("disk full"); });
  EXPECT_THROW(deliver(throwing, *message("m1")), std::runtime_error);
  EXPECT_EQ(effects(), 0U);
  EXPECT_EQ(deliver(listener(writing()), *message("m1")).kind, Outcome::Kind::done);
  EXPECT_EQ(effects(), 1U);
}

TEST_F(OnceTest, DatabaseThatFailsSpendsNoAttemptWhereverItFails) {
  using memory::Fault;
  using memory::Operation;
  const auto handled = listener(writing());
  for (const auto& [operation, fault] :
       {std::pair(Operation::begin, Fault::refused), std::pair(Operation::inbox, Fault::refused),
        std::pair(Operation::commit, Fault::lost_before),
        std::pair(Operation::commit, Fault::lost_after)}) {
    store_.set_faults([=](Operation asked) { return asked == operation ? fault : Fault::none; });
    const auto outcome = deliver(handled, *message("m1"));
    EXPECT_EQ(outcome.kind, Outcome::Kind::retry);
    EXPECT_FALSE(outcome.spends_attempt);
  }
  store_.set_faults({});
  EXPECT_EQ(deliver(handled, *message("m1")).kind, Outcome::Kind::done);
  EXPECT_EQ(effects(), 1U) << "the commit whose answer was lost counts";
}

TEST_F(OnceTest, FirstTimesAndRepetitionsAreCounted) {
  const auto runs = [&](const std::string& result) {
    return metrics_.counter_value("idempotency_runs_total",
                                  {{"consumer", "billing"}, {"result", result}});
  };
  deliver(listener(writing(retry("no stock"))), *message("m1"));
  const auto throwing = listener(
      [](const Delivery&, OwnedTransaction&) -> Outcome { throw std::runtime_error("disk full"); });
  EXPECT_THROW(deliver(throwing, *message("m1")), std::runtime_error);
  const auto handled = listener(writing());
  for (int i = 0; i < 4; ++i) deliver(handled, *message("m1"));
  EXPECT_EQ(runs("released"), 2);
  EXPECT_EQ(runs("succeeded"), 1);
  EXPECT_EQ(metrics_.counter_value("idempotency_hits_total", {{"consumer", "billing"}}), 3);
}

TEST_F(OnceTest, HandlerThatDeclaresAStoreHandlesAMessageOnceUnlessToldOtherwise) {
  const auto twice = [&](const Listener& handled, const std::string& id) {
    calls_ = 0;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(deliver(handled, *message(id)).kind, Outcome::Kind::done);
    }
    return calls_;
  };
  EXPECT_EQ(twice(listener_of({.store = store_, .handle = writing()}, "fn:bill").value(), "m1"), 1);
  const auto every_time =
      listener_of({.store = store_, .handle = writing(), .once = false}, "fn:bill").value();
  EXPECT_EQ(twice(every_time, "m1"), 2) << "the key is not asked";
  EXPECT_EQ(effects(), 3U);
}

TEST_F(OnceTest, ConsumerIsTheRegistrationUnlessItIsNamed) {
  const auto taken = [&](const std::string& consumer) -> bool {
    const IdempotencyKey key{.tenant = "acme", .consumer = consumer, .key = "acme:m1"};
    return store_.inbox()->taken(std::span(&key, 1)).value().front();
  };
  deliver(listener_of({.store = store_, .handle = writing()}, "fn:bill").value(), *message("m1"));
  EXPECT_TRUE(taken("fn:bill"));
  EXPECT_FALSE(taken("billing"));
  deliver(
      listener_of({.store = store_, .handle = writing(), .consumer = "billing"}, "fn:bill").value(),
      *message("m1"));
  EXPECT_TRUE(taken("billing"));
}

TEST_F(OnceTest, HandlerThatDeclaresAStoreIsCheckedWhereItIsRegistered) {
  EXPECT_EQ(listener_of({.store = store_}, "fn:bill").error().code, Code::tx_invalid_handler);
  const auto nameless = listener_of({.store = store_, .handle = writing()}, std::string(200, 'n'));
  EXPECT_EQ(nameless.error().code, Code::config_invalid);
  EXPECT_NE(nameless.error().message.find("`consumer`"), std::string::npos);
  store_.set_faults([](memory::Operation) { return memory::Fault::refused; });
  EXPECT_FALSE(listener_of({.store = store_, .handle = writing()}, "fn:bill").ok());
}

TEST_F(OnceTest, ConsumerNeedsAName) {
  EXPECT_THROW(listener(writing(), ""), Failure);
  EXPECT_THROW(listener(writing(), "a\nb"), Failure);
}

}  // namespace
}  // namespace sagabox
