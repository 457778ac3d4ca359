#include "saga/calls/functions.hpp"

#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::saga {
namespace {

using namespace std::chrono_literals;
using Kind = CallResult::Kind;

/// How calls have ended, in order.
class KeptResults final : public CallResults {
 public:
  void ended(CallTicket ticket, CallResult result) noexcept override {
    const std::scoped_lock lock(mutex_);
    all_.emplace_back(ticket.value, std::move(result));
    changed_.notify_all();
  }
  /// The results, once there are so many.
  std::vector<std::pair<std::uint64_t, CallResult>> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return all_.size() >= count; });
    return all_;
  }
  [[nodiscard]] std::size_t count() const {
    const std::scoped_lock lock(mutex_);
    return all_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::uint64_t, CallResult>> all_;
};

/// A function that says which calls have come, and keeps them until it is opened.
class Gate {
 public:
  SagaAnswer pass(const SagaCall& call) {
    std::unique_lock lock(mutex_);
    came_.push_back(call.definition() + " " + call.step());
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    return saga_ok();
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return came_.size() >= count; });
    return came_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> came_;
  bool open_ = false;
};

class SagaFunctionsTest : public ::testing::Test {
 protected:
  ~SagaFunctionsTest() override { gate_.open(); }

  CallOrder order(std::uint64_t ticket, std::string definition, std::string step,
                  Duration limit = 30s) {
    CallOrder made{.ticket = CallTicket{ticket},
                   .saga = SagaId::parse("s1").value(),
                   .definition = std::move(definition),
                   .step = std::move(step),
                   .deadline = clock_.boot_now() + limit};
    made.call.target = {.kind = Target::Kind::function, .name = "work"};
    return made;
  }
  void call(CallOrder one) {
    std::vector<CallOrder> orders;
    orders.push_back(std::move(one));
    functions_->call(std::move(orders), results_);
  }
  void add_gate() {
    functions_->add("work", [this](const SagaCall& call) { return gate_.pass(call); }).value();
  }
  /// A function that promises a result.
  void add_later() {
    functions_
        ->add("work",
              [this](const SagaCall& call) {
                const std::scoped_lock lock(mutex_);
                promised_ = call.completion();
                return saga_later();
              })
        .value();
  }
  void wait_until_idle() {
    while (functions_->running() > 0) std::this_thread::yield();
  }

  sagabox::testing::FakeClock clock_;
  Gate gate_;
  KeptResults results_;
  std::mutex mutex_;
  std::optional<SagaCompletion> promised_;
  std::optional<Functions> functions_{
      std::in_place, FunctionOptions{.workers = 1, .spare_workers_max = 0, .clock = &clock_}};
};

TEST_F(SagaFunctionsTest, ACallThatWaitedForHalfOfItsTimeIsNotBegunAndNotInDoubt) {
  add_gate();
  call(order(1, "travel", "first"));
  gate_.wait_for(1);
  call(order(2, "travel", "late"));
  clock_.advance(16s);
  call(order(3, "travel", "fresh"));
  gate_.open();
  const auto ended = results_.wait_for(3);
  for (const auto& [ticket, result] : ended) {
    EXPECT_EQ(result.kind, ticket == 2 ? Kind::unreachable : Kind::ok) << ticket;
  }
  EXPECT_EQ(gate_.wait_for(2), (std::vector<std::string>{"travel first", "travel fresh"}));
}

TEST_F(SagaFunctionsTest, OnlyACallThatHasNotBegunIsWithdrawn) {
  add_gate();
  call(order(1, "travel", "first"));
  gate_.wait_for(1);
  call(order(2, "travel", "second"));
  EXPECT_FALSE(functions_->withdraw(CallTicket{1})) << "it runs";
  EXPECT_TRUE(functions_->withdraw(CallTicket{2}));
  EXPECT_FALSE(functions_->withdraw(CallTicket{2})) << "it is gone";
  gate_.open();
  EXPECT_EQ(results_.wait_for(1).front().first, 1U);
  wait_until_idle();
  EXPECT_EQ(results_.count(), 1U) << "nobody is told of what was withdrawn";
}

TEST_F(SagaFunctionsTest, DefinitionsTakeTurns) {
  add_gate();
  call(order(1, "many", "1"));
  gate_.wait_for(1);
  for (std::uint64_t ticket = 2; ticket <= 6; ++ticket) {
    call(order(ticket, "many", std::to_string(ticket)));
  }
  call(order(7, "one", "7"));
  gate_.open();
  const auto came = gate_.wait_for(7);
  EXPECT_EQ(came[1], "one 7") << "it does not wait behind all of the other definition";
  EXPECT_EQ(came[2], "many 2");
  EXPECT_EQ(came[6], "many 6") << "those of one definition keep their order";
}

TEST_F(SagaFunctionsTest, AnAbandonedPromiseEndsAndCompletesNothingLater) {
  add_later();
  call(order(1, "travel", "hotel"));
  wait_until_idle();
  while (!functions_->open_completions()) std::this_thread::yield();
  EXPECT_EQ(results_.count(), 0U);
  functions_->abandon(CallTicket{1});
  const auto ended = results_.wait_for(1);
  EXPECT_EQ(ended.front().second.kind, Kind::in_doubt);
  promised_->complete(saga_ok());
  promised_.reset();
  EXPECT_EQ(results_.count(), 1U) << "a call ends once";
  EXPECT_EQ(functions_->open_completions(), 0U);
}

TEST_F(SagaFunctionsTest, ACompletedPromiseIsForgotten) {
  add_later();
  call(order(1, "travel", "hotel"));
  while (!functions_->open_completions()) std::this_thread::yield();
  promised_->complete(saga_ok("7"));
  EXPECT_EQ(results_.wait_for(1).front().second.output, "7");
  EXPECT_EQ(functions_->open_completions(), 0U);
  functions_->abandon(CallTicket{1});
  EXPECT_EQ(results_.count(), 1U);
}

TEST_F(SagaFunctionsTest, APromiseThatIsGivenAfterItsCallWasAbandonedEnds) {
  functions_
      ->add("work",
            [this](const SagaCall& call) {
              promised_ = call.completion();
              gate_.pass(call);
              return saga_later();
            })
      .value();
  call(order(1, "travel", "hotel"));
  gate_.wait_for(1);
  functions_->abandon(CallTicket{1});
  gate_.open();
  EXPECT_EQ(results_.wait_for(1).front().second.kind, Kind::in_doubt);
}

}  // namespace
}  // namespace sagabox::saga
