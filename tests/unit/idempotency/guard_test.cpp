#include <sagabox/idempotency.hpp>
#include <sagabox/random.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <map>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace sagabox {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class GuardTest : public ::testing::Test {
 protected:
  GuardOptions options() {
    return {.consumer = "billing",
            .renews_itself = false,
            .metrics = &metrics_,
            .clock = &clock_,
            .random = random_.get()};
  }
  std::unique_ptr<Guard> guard() { return Guard::create(store_, options()).value(); }
  Result<Guarded> run(Guard& guard, const std::string& key, const Guard::Work& work,
                      std::string_view request = "request") {
    return guard.run("acme", key, sha256(request), work);
  }
  /// Counts its calls.
  Guard::Work returning(std::string bytes) {
    return [this, bytes = std::move(bytes)](const std::stop_token&) -> Result<GuardedResult> {
      ++calls_;
      return GuardedResult{bytes};
    };
  }
  Guard::Work failing(Code code) {
    return [this, code](const std::stop_token&) -> Result<GuardedResult> {
      ++calls_;
      return Error{code, "no stock"};
    };
  }
  double counted(std::string_view name, Labels labels) {
    return metrics_.counter_value(name, labels);
  }

  testing::FakeClock clock_;
  testing::RecordingMetrics metrics_;
  std::unique_ptr<Random> random_ = seeded_random(24);
  memory::MemoryStore store_{{.clock = &clock_}};
  std::atomic<int> calls_{0};
};

TEST_F(GuardTest, WorkRunsOnceAndItsResultComesBackByteForByte) {
  const auto guard = this->guard();
  const std::string bytes("\0\xffok", 4);
  const auto first = run(*guard, "k1", returning(bytes)).value();
  EXPECT_EQ(first.result, bytes);
  EXPECT_FALSE(first.replayed);
  const auto again = run(*guard, "k1", returning("other")).value();
  EXPECT_EQ(again.result, bytes);
  EXPECT_EQ(again.digest, sha256(bytes));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(counted("idempotency_hits_total", {{"consumer", "billing"}}), 1);
  EXPECT_EQ(counted("idempotency_runs_total", {{"consumer", "billing"}, {"result", "succeeded"}}),
            1);
}

TEST_F(GuardTest, LargeResultIsReplayedByItsDigestOrByWhatWasGivenForIt) {
  auto few = options();
  few.result_bytes_max = 4;
  const auto guard = Guard::create(store_, few).value();
  EXPECT_EQ(run(*guard, "k1", returning("12345")).value().result, "12345");
  const auto again = run(*guard, "k1", returning("")).value();
  EXPECT_EQ(again.result, std::nullopt);
  EXPECT_EQ(again.digest, sha256("12345"));
  const auto work = [](const std::stop_token&) -> Result<GuardedResult> {
    return GuardedResult{"12345", "see"};
  };
  EXPECT_EQ(run(*guard, "k2", work).value().result, "12345");
  EXPECT_EQ(run(*guard, "k2", work).value().result, "see");
  EXPECT_EQ(calls_, 1);
}

TEST_F(GuardTest, SameKeyMeanwhileIsBusyAndAnotherRequestIsAMismatch) {
  const auto guard = this->guard();
  const auto work = [&](const std::stop_token&) -> Result<GuardedResult> {
    EXPECT_EQ(run(*guard, "k1", returning("x")).error().code, Code::tx_idempotent_busy);
    EXPECT_EQ(run(*guard, "k1", returning("x"), "other").error().code,
              Code::tx_idempotent_mismatch);
    EXPECT_TRUE(run(*guard, "k2", returning("x")).ok()) << "another key";
    return GuardedResult{"ok"};
  };
  EXPECT_TRUE(run(*guard, "k1", work).ok());
  EXPECT_EQ(run(*guard, "k1", returning("x"), "other").error().code, Code::tx_idempotent_mismatch);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(counted("idempotency_conflicts_total", {{"consumer", "billing"}, {"reason", "busy"}}),
            1);
  EXPECT_EQ(
      counted("idempotency_conflicts_total", {{"consumer", "billing"}, {"reason", "mismatch"}}), 2);
}

TEST_F(GuardTest, ConsumersAndTenantsHaveKeysOfTheirOwn) {
  auto other = options();
  other.consumer = "shipping";
  const auto billing = guard();
  const auto shipping = Guard::create(store_, other).value();
  EXPECT_FALSE(run(*billing, "k1", returning("b")).value().replayed);
  EXPECT_FALSE(run(*shipping, "k1", returning("s")).value().replayed);
  EXPECT_FALSE(billing->run("umbrella", "k1", sha256("request"), returning("u")).value().replayed);
  EXPECT_EQ(calls_, 3);
}

TEST_F(GuardTest, FinalFailureIsRememberedAndARetryableOneReleasesTheKey) {
  const auto guard = this->guard();
  EXPECT_EQ(run(*guard, "final", failing(Code::provider_rejected)).error().code,
            Code::provider_rejected);
  EXPECT_EQ(run(*guard, "final", returning("x")).error().code, Code::tx_idempotent_last_failed);
  EXPECT_EQ(run(*guard, "retryable", failing(Code::provider_unavailable)).error().code,
            Code::provider_unavailable);
  EXPECT_EQ(run(*guard, "retryable", returning("x")).value().result, "x");
  EXPECT_EQ(calls_, 3);
  const auto runs = [&](std::string_view result) {
    return counted("idempotency_runs_total", {{"consumer", "billing"}, {"result", result}});
  };
  EXPECT_EQ(runs("failed"), 1);
  EXPECT_EQ(runs("released"), 1);
  EXPECT_EQ(runs("succeeded"), 1);
}

TEST_F(GuardTest, WhatIsFinalCanBeSaid) {
  auto strict = options();
  strict.is_final = [](const Error&) { return true; };
  const auto guard = Guard::create(store_, strict).value();
  EXPECT_FALSE(run(*guard, "k1", failing(Code::provider_unavailable)).ok());
  EXPECT_EQ(run(*guard, "k1", returning("x")).error().code, Code::tx_idempotent_last_failed);
}

TEST_F(GuardTest, ThrownWorkReleasesTheKey) {
  const auto guard = this->guard();
  const auto thrown = run(*guard, "k1", [](const std::stop_token&) -> Result<GuardedResult> {
    throw std::runtime_error("disk full");
  });
  EXPECT_EQ(thrown.error().code, Code::tx_handler_failed);
  EXPECT_NE(thrown.error().message.find("disk full"), std::string::npos);
  EXPECT_TRUE(run(*guard, "k1", returning("x")).ok());
}

TEST_F(GuardTest, LeaseIsRenewedWhileTheWorkRuns) {
  const auto guard = this->guard();
  const auto work = [&](const std::stop_token& stop) -> Result<GuardedResult> {
    for (int i = 0; i < 10; ++i) {
      clock_.advance(seconds(6));
      guard->renew_due().value();
      EXPECT_EQ(run(*guard, "k1", returning("x")).error().code, Code::tx_idempotent_busy);
    }
    EXPECT_FALSE(stop.stop_requested());
    return GuardedResult{"slow"};
  };
  EXPECT_EQ(run(*guard, "k1", work).value().result, "slow");
  EXPECT_EQ(calls_, 0);
}

TEST_F(GuardTest, HolderThatWasTakenOverIsToldAndItsFinishIsRefused) {
  const auto slow = guard();
  const auto fast = guard();
  const auto work = [&](const std::stop_token& stop) -> Result<GuardedResult> {
    EXPECT_FALSE(stop.stop_requested());
    clock_.advance(seconds(16));
    EXPECT_EQ(run(*fast, "k1", returning("second")).value().result, "second");
    EXPECT_TRUE(slow->renew_due().ok());
    EXPECT_TRUE(stop.stop_requested());
    return GuardedResult{"first"};
  };
  EXPECT_EQ(run(*slow, "k1", work).error().code, Code::tx_lease_lost);
  EXPECT_EQ(run(*fast, "k1", returning("third")).value().result, "second");
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(counted("idempotency_runs_total", {{"consumer", "billing"}, {"result", "lost"}}), 1);
}

TEST_F(GuardTest, HolderThatCannotRenewIsToldWhenItsLeaseIsOver) {
  const auto guard = this->guard();
  const auto work = [&](const std::stop_token& stop) -> Result<GuardedResult> {
    store_.set_faults([](memory::Operation operation) {
      return operation == memory::Operation::idempotency_renew ? memory::Fault::refused
                                                               : memory::Fault::none;
    });
    clock_.advance(seconds(6));
    EXPECT_EQ(guard->renew_due().error().code, Code::storage_unavailable);
    EXPECT_FALSE(stop.stop_requested());
    clock_.advance(seconds(9));
    EXPECT_TRUE(guard->renew_due().ok());
    EXPECT_TRUE(stop.stop_requested());
    return GuardedResult{"in time after all"};
  };
  EXPECT_TRUE(run(*guard, "k1", work).ok()) << "nobody else was let through";
}

TEST_F(GuardTest, DroppedHolderIsTakenOverAfterItsLease) {
  const auto guard = this->guard();
  {
    auto entered = guard->enter("acme", "k1", sha256("request")).value();
    const auto held = std::get<Held>(std::move(entered));
    EXPECT_EQ(held.attempt(), 1U);
    EXPECT_EQ(held.key(), (IdempotencyKey{"acme", "billing", "k1"}));
  }
  clock_.advance(seconds(6));
  guard->renew_due().value();
  EXPECT_EQ(run(*guard, "k1", returning("x")).error().code, Code::tx_idempotent_busy);
  clock_.advance(seconds(9));
  auto entered = guard->enter("acme", "k1", sha256("request")).value();
  auto held = std::get<Held>(std::move(entered));
  EXPECT_EQ(held.attempt(), 2U);
  EXPECT_EQ(held.finish({"late"}).value().result, "late");
  EXPECT_EQ(run(*guard, "k1", returning("x")).value().result, "late");
}

TEST_F(GuardTest, ResultIsForgottenAfterItsTime) {
  const auto guard = this->guard();
  EXPECT_TRUE(run(*guard, "k1", returning("x")).ok());
  clock_.advance(hours(25));
  EXPECT_FALSE(run(*guard, "k1", returning("y")).value().replayed);
  EXPECT_EQ(calls_, 2);
}

TEST_F(GuardTest, LostAnswersOfTheStoreAreAskedForAgain) {
  const auto guard = this->guard();
  std::map<memory::Operation, int> asked;
  store_.set_faults([&](memory::Operation operation) {
    return ++asked[operation] == 1 ? memory::Fault::lost_after : memory::Fault::none;
  });
  EXPECT_EQ(run(*guard, "k1", returning("x")).value().result, "x");
  EXPECT_EQ(run(*guard, "k1", returning("y")).value().result, "x");
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(asked[memory::Operation::idempotency_end], 2);
}

TEST_F(GuardTest, StoreThatCannotBeReachedLetsNobodyThrough) {
  const auto guard = this->guard();
  store_.set_faults([](memory::Operation) { return memory::Fault::refused; });
  EXPECT_EQ(run(*guard, "k1", returning("x")).error().code, Code::storage_unavailable);
  EXPECT_EQ(calls_, 0);
}

TEST_F(GuardTest, OptionsAndKeysThatDoNotFitAreRefused) {
  const auto refused = [&](auto&& change) {
    auto wrong = options();
    change(wrong);
    return Guard::create(store_, wrong).error().code;
  };
  EXPECT_EQ(refused([](GuardOptions& o) { o.consumer.clear(); }), Code::config_invalid);
  EXPECT_EQ(refused([](GuardOptions& o) { o.lease = {}; }), Code::config_invalid);
  EXPECT_EQ(refused([](GuardOptions& o) { o.ttl = seconds(1); }), Code::config_invalid);
  EXPECT_EQ(refused([](GuardOptions& o) { o.renew_interval = o.lease; }), Code::config_invalid);
  const auto guard = this->guard();
  EXPECT_EQ(run(*guard, "", returning("x")).error().code, Code::schema_validation_failed);
  EXPECT_EQ(run(*guard, std::string(256, 'k'), returning("x")).error().code,
            Code::schema_validation_failed);
  EXPECT_EQ(calls_, 0);
}

// A real clock and the guard's own thread: work far longer than the lease.
TEST(GuardThreads, GuardRenewsByItself) {
  memory::MemoryStore store;
  const auto guard =
      Guard::create(store, {.consumer = "billing", .lease = std::chrono::milliseconds(300)})
          .value();
  std::atomic<int> renewals{0};
  store.set_faults([&](memory::Operation operation) {
    if (operation == memory::Operation::idempotency_renew) ++renewals;
    return memory::Fault::none;
  });
  const auto work = [&](const std::stop_token&) -> Result<GuardedResult> {
    while (renewals < 5) std::this_thread::yield();
    return GuardedResult{"ok"};
  };
  EXPECT_TRUE(guard->run("acme", "k1", sha256(""), work).ok());
}

TEST(GuardThreads, SixtyFourThreadsOnTheSameKeysRunEachOnce) {
  constexpr int threads = 64;
  constexpr int keys = 50;
  memory::MemoryStore store;
  const auto guard = Guard::create(store, {.consumer = "billing"}).value();
  std::vector<std::atomic<int>> ran(keys);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < keys; ++i) {
        const auto key = static_cast<std::size_t>((i + t) % keys);
        const auto bytes = "result " + std::to_string(key);
        for (;;) {
          const auto done = guard->run("acme", "k" + std::to_string(key), sha256(bytes),
                                       [&](const std::stop_token&) -> Result<GuardedResult> {
                                         ++ran[key];
                                         return GuardedResult{bytes};
                                       });
          if (!done.ok()) {
            EXPECT_EQ(done.error().code, Code::tx_idempotent_busy);
            std::this_thread::yield();
            continue;
          }
          EXPECT_EQ(done->result, bytes);
          break;
        }
      }
    });
  }
  for (auto& thread : running) thread.join();
  for (const auto& count : ran) EXPECT_EQ(count, 1);
}

TEST(GuardThreads, HolderIsToldThatItsLeaseIsOverWhileARenewalHangs) {
  std::latch told(1);
  memory::MemoryStore store;
  store.set_faults([&](memory::Operation operation) {
    if (operation == memory::Operation::idempotency_renew) told.wait();
    return memory::Fault::none;
  });
  const auto guard =
      Guard::create(store, {.consumer = "billing", .lease = std::chrono::milliseconds(60)}).value();
  const auto done = guard->run("acme", "k1", sha256("request"),
                               [&](const std::stop_token& stop) -> Result<GuardedResult> {
                                 // Without it, this waits for ever: the renewal waits for it.
                                 const std::stop_callback tell(stop, [&] { told.count_down(); });
                                 told.wait();
                                 return GuardedResult{"late"};
                               });
  EXPECT_TRUE(done.ok()) << "nobody else was let through";
}

}  // namespace
}  // namespace sagabox
