#include "outbox/dispatch/registry.hpp"

#include "unit/outbox/rows.hpp"

#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sagabox::outbox {
namespace {

using ::sagabox::testing::RecordingLogger;
using ::sagabox::testing::RecordingMetrics;

class RegistryTest : public ::testing::Test {
 protected:
  RecordingMetrics metrics;
  Registry registry{metrics, "orders"};
};

TEST_F(RegistryTest, FindsTheListenerOfAggregateTypeAndTopic) {
  ASSERT_TRUE(registry.add("Order", "placed", [](const Delivery&) { return done(); }).ok());
  EXPECT_NE(registry.find("Order", "placed"), nullptr);
  EXPECT_EQ(registry.find("Order", "paid"), nullptr);
  EXPECT_EQ(registry.find("Invoice", "placed"), nullptr);
  EXPECT_EQ(registry.find("__GLOBAL__", "placed"), nullptr);
}

TEST_F(RegistryTest, SameTopicOfAnotherAggregateTypeIsAnotherListener) {
  ASSERT_TRUE(registry.add("Order", "placed", [](const Delivery&) { return done(); }).ok());
  EXPECT_TRUE(registry.add("Cart", "placed", [](const Delivery&) { return done(); }).ok());
  EXPECT_NE(registry.find("Order", "placed"), registry.find("Cart", "placed"));
}

TEST_F(RegistryTest, SecondListenerIsRefusedAndTheFirstStays) {
  ASSERT_TRUE(registry.add("Order", "placed", [](const Delivery&) { return done(); }).ok());
  const auto* first = registry.find("Order", "placed");
  const auto second = registry.add("Order", "placed", [](const Delivery&) { return done(); });
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::tx_invalid_state);
  EXPECT_EQ(second.error().message,
            "topic \"placed\" of aggregate type \"Order\" has a listener already; one topic, one "
            "listener");
  EXPECT_EQ(registry.find("Order", "placed"), first);
}

TEST_F(RegistryTest, EmptyListenerIsRefused) {
  const auto added = registry.add("Order", "placed", Listener{});
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Code::tx_invalid_handler);
  EXPECT_EQ(added.error().message, "listener for topic \"placed\" is empty; give a function");
}

/// Writes down when it is called; throws when told to.
class Tracing final : public Interceptor {
 public:
  Tracing(std::string name, std::vector<std::string>& calls)
      : name_(std::move(name)), calls_(calls) {}
  void before(const Delivery&) override {
    calls_.push_back("before " + name_);
    if (!before_throws.empty()) throw std::runtime_error(before_throws);
  }
  void after(const Delivery&, const Outcome& outcome) override {
    calls_.push_back("after " + name_);
    last = outcome;
    if (!after_throws.empty()) throw std::runtime_error(after_throws);
    if (after_throws_odd) throw 42;
  }
  std::string before_throws;
  std::string after_throws;
  bool after_throws_odd = false;
  Outcome last;

 private:
  std::string name_;
  std::vector<std::string>& calls_;
};

class InvokerTest : public RegistryTest {
 protected:
  void listen(Listener listener) {
    ASSERT_TRUE(registry.add("__GLOBAL__", "orders.order.placed.v1", std::move(listener)).ok());
  }
  Outcome invoke(NewMessage draft = {}) {
    const auto message = testing::message(std::move(draft));
    const auto table = TableName::parse("orders").value();
    const Delivery::Facts facts{.message = message.get(), .table = &table};
    return Invoker(registry, interceptors, 100, log).invoke(Delivery(facts));
  }

  RecordingLogger log;
  std::vector<std::string> calls;
  std::shared_ptr<Tracing> outer = std::make_shared<Tracing>("outer", calls);
  std::shared_ptr<Tracing> inner = std::make_shared<Tracing>("inner", calls);
  std::vector<std::shared_ptr<Interceptor>> interceptors;
};

TEST_F(InvokerTest, GivesTheListenersOutcome) {
  listen([](const Delivery&) { return retry_after(std::chrono::seconds(3)); });
  const auto outcome = invoke();
  EXPECT_EQ(outcome.kind, Outcome::Kind::retry);
  EXPECT_EQ(outcome.delay, std::chrono::seconds(3));
}

TEST_F(InvokerTest, MessageWithoutListenerIsRejectedAsUnroutable) {
  const auto outcome = invoke();
  EXPECT_EQ(outcome.kind, Outcome::Kind::reject);
  EXPECT_EQ(outcome.code, Code::tx_unroutable);
  EXPECT_EQ(outcome.error,
            "no listener for topic \"orders.order.placed.v1\" of aggregate type \"__GLOBAL__\"; "
            "register one, then re")
      << "cut at 100 bytes here";
}

/// Takes nothing.
class NoRoutes final : public spi::Sink {
 public:
  [[nodiscard]] std::optional<spi::ClassId> class_of(const Message&) const override { return {}; }
  [[nodiscard]] bool closed(spi::ClassId) const override { return false; }
  [[nodiscard]] bool takes(const Message&) const override { return false; }
  [[nodiscard]] std::uint32_t attempts_max(std::uint32_t of_table) const override {
    return of_table;
  }
  void join(spi::DispatchResults&) override {}
  void deliver(std::span<spi::Dispatch>, spi::DispatchResults&) override {}
  void recall(spi::DispatchResults&, Shard) override {}
  void leave(spi::DispatchResults&) override {}
};

TEST_F(InvokerTest, MessageWithoutRouteIsToldWhereRoutesStand) {
  const NoRoutes routes;
  EXPECT_EQ(Registry(no_metrics(), "orders", &routes).unroutable(*testing::message({})),
            "no route for topic \"orders.order.placed.v1\"; add one under `routes` of "
            "sagabox.yaml, then replay");
}

TEST_F(InvokerTest, ExceptionIsAFailedAttempt) {
  listen([](const Delivery&) -> Outcome { throw std::runtime_error("mail server is down"); });
  const auto outcome = invoke();
  EXPECT_EQ(outcome.kind, Outcome::Kind::retry);
  EXPECT_TRUE(outcome.spends_attempt);
  EXPECT_EQ(outcome.code, Code::tx_handler_failed);
  EXPECT_EQ(outcome.error, "mail server is down");
}

TEST_F(InvokerTest, AnythingElseThrownIsAFailedAttemptToo) {
  listen([](const Delivery&) -> Outcome { throw 42; });
  const auto outcome = invoke();
  EXPECT_EQ(outcome.kind, Outcome::Kind::retry);
  EXPECT_EQ(outcome.error, "the handler threw something that is not a std::exception");
}

TEST_F(InvokerTest, ErrorTextIsCutAndCarriesNoPayloadOrSecret) {
  listen([](const Delivery& d) -> Outcome {
    throw std::runtime_error("refused " + std::string(d.payload().view()) +
                             " by https://bob:hunter2@mail/ " + std::string(500, 'x'));
  });
  const auto outcome = invoke({.payload = json(R"({"card":"4111-1111"})")});
  EXPECT_LE(outcome.error.size(), 100U);
  EXPECT_EQ(outcome.error.find("4111"), std::string::npos);
  EXPECT_EQ(outcome.error.find("hunter2"), std::string::npos);
  EXPECT_NE(outcome.error.find("[payload]"), std::string::npos);
}

TEST_F(InvokerTest, InterceptorsGoAroundTheListenerInOrderAndInReverse) {
  interceptors = {outer, inner};
  listen([&](const Delivery&) {
    calls.emplace_back("listener");
    return done();
  });
  EXPECT_EQ(invoke().kind, Outcome::Kind::done);
  EXPECT_EQ(calls, (std::vector<std::string>{"before outer", "before inner", "listener",
                                             "after inner", "after outer"}));
}

TEST_F(InvokerTest, ThrowBeforeFailsTheMessageAndOnlyThoseEnteredAreLeft) {
  interceptors = {outer, inner};
  inner->before_throws = "not allowed";
  listen([&](const Delivery&) {
    calls.emplace_back("listener");
    return done();
  });
  const auto outcome = invoke();
  EXPECT_EQ(outcome.kind, Outcome::Kind::retry);
  EXPECT_EQ(outcome.error, "not allowed");
  EXPECT_EQ(calls, (std::vector<std::string>{"before outer", "before inner", "after outer"}));
  EXPECT_EQ(outer->last.error, "not allowed") << "it learns of the failure";
}

TEST_F(InvokerTest, ThrowAfterIsLoggedAndChangesNothing) {
  interceptors = {outer, inner};
  inner->after_throws = "cannot audit {\"card\":\"4111\"}";
  outer->after_throws_odd = true;
  listen([](const Delivery&) { return done(); });
  EXPECT_EQ(invoke({.payload = json(R"({"card":"4111"})")}).kind, Outcome::Kind::done);
  EXPECT_EQ(calls.back(), "after outer") << "the other is left all the same";
  ASSERT_EQ(log.count("interceptor failed after dispatch"), 2U);
  EXPECT_EQ(log.lines()[0].fields.at("error"), "cannot audit [payload]");
}

TEST_F(InvokerTest, UnroutableMessageGoesThroughTheInterceptorsToo) {
  interceptors = {outer};
  EXPECT_EQ(invoke().code, Code::tx_unroutable);
  EXPECT_EQ(calls, (std::vector<std::string>{"before outer", "after outer"}));
}

}  // namespace
}  // namespace sagabox::outbox
