#include "saga/orchestrator/orchestrator.hpp"

#include "ownership/worker.hpp"
#include "saga/commands.hpp"
#include "saga/stray_search.hpp"
#include "support/ownership.hpp"
#include "support/saga_hand.hpp"

#include <sagabox/random.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::saga {
namespace {

using namespace std::chrono_literals;

/// Calls that are never begun, until a test ends them.
class WaitingCalls final : public Caller {
 public:
  void call(std::vector<CallOrder> orders, CallResults&) override {
    for (auto& order : orders) waiting.insert(order.ticket), made.push_back(std::move(order));
  }
  void abandon(CallTicket ticket) override { abandoned.push_back(ticket); }
  bool withdraw(CallTicket ticket) override { return !begun && waiting.erase(ticket) > 0; }

  std::set<CallTicket> waiting;
  std::vector<CallOrder> made;
  std::vector<CallTicket> abandoned;
  bool begun = false;
};

/// One process with one definition of one step that is not idempotent, stepped by hand.
class SagaOrchestratorTest : public ::testing::Test {
 protected:
  SagaOrchestratorTest() {
    SagaDefinition travel{.name = "travel"};
    travel.steps.push_back({.name = "flight",
                            .action = "fn:book",
                            .compensation = "none",
                            .idempotent = false,
                            .attempt_timeout = 1s,
                            .retry = {.attempts_max = 3, .backoff_min = 1s, .backoff_max = 1s}});
    plans_.add(Plan::make(travel).value());
    store_.sagas()->define(travel.record(clock_.wall_now())).value();
  }

  void open(OrchestratorOptions options = {}) {
    options.poll_interval = 10ms;
    orchestrator_.emplace(
        OrchestratorParts{
            .store = *store_.sagas(),
            .definition = "travel",
            .plans = plans_,
            .caller = calls_,
            .tickets = tickets_,
            .ids = ids_,
            .clock = clock_,
            .random = *random_,
            .metrics = no_metrics(),
            .log = log_,
            .reply_secret = {},
            .told = [this](const SagaCommandResult& result) { told_.push_back(result); },
            .wrote_messages = [](const TableName&) {},
            .wake_writer = [] {},
            .wake_reader = [] {}},
        options);
    worker_.emplace(
        ownership::WorkerParts{.store = store_.ownership(), .ids = ids_, .clock = clock_},
        std::vector<ownership::ScopeOptions>{
            {.scope = Orchestrator::scope_of("travel"), .shards = 1, .holder = &*orchestrator_}},
        ownership::WorkerOptions::for_lease(24h));
    orchestrator_->attach(*worker_);
    while (worker_->step()) {
    }
    run();
  }

  /// Reads and writes until nothing is left to do at this time.
  void run() {
    for (int round = 0; round < 20; ++round) {
      orchestrator_->committed_somewhere();
      clock_.advance_boot(10ms);
      const auto now = clock_.boot_now();
      for (int reads = 0; reads < 10; ++reads) {
        const auto read = orchestrator_->plan_read(now);
        if (!read) break;
        orchestrator_->apply(*read, orchestrator_->perform(*read), now);
      }
      auto write = orchestrator_->plan_write(now);
      orchestrator_->make_calls(now);
      if (!write) continue;
      auto reply = orchestrator_->perform(*write);
      orchestrator_->apply(*std::move(write), std::move(reply), now);
      orchestrator_->make_calls(now);
    }
  }

  SagaId send(const std::string& saga, SagaCommandKind kind, std::string body) {
    const SagaCommand command{.id = ids_.next<CommandId>(),
                              .saga = SagaId::parse(saga).value(),
                              .definition = "travel",
                              .tenant = "default",
                              .kind = kind,
                              .body = std::move(body)};
    store_
        .transaction([&](OwnedTransaction& tx) -> Status {
          return tx.sagas().append(std::span(&command, 1));
        })
        .value();
    return command.saga;
  }
  SagaId start(const std::string& saga, std::optional<std::uint32_t> version = {}) {
    return send(saga, SagaCommandKind::start, start_body({.input = "1", .version = version}));
  }
  [[nodiscard]] std::optional<Instance> stored(const SagaId& id) {
    const auto record = store_.saga_admin()->get(id).value();
    if (!record) return std::nullopt;
    return from_record(*record).value();
  }

  sagabox::testing::FakeClock clock_;
  memory::MemoryStore store_{{.shards = 1, .clock = &clock_}};
  std::unique_ptr<Random> random_ = seeded_random(1);
  UlidSource ids_{clock_, *random_};
  PlanBook plans_;
  WaitingCalls calls_;
  std::atomic<std::uint64_t> tickets_{0};
  ownership::testing::RecordingLog log_;
  std::vector<SagaCommandResult> told_;
  std::optional<Orchestrator> orchestrator_;
  std::optional<ownership::Worker> worker_;
};

TEST_F(SagaOrchestratorTest, ACallThatWasNeverBegunSpendsNoAttemptAndIsNotInDoubt) {
  open();
  const auto id = start("s1");
  run();
  ASSERT_EQ(calls_.made.size(), 1U);
  clock_.advance(2s);
  run();
  const auto saga = stored(id);
  EXPECT_EQ(saga->state, SagaState::running);
  EXPECT_EQ(saga->steps[0].state, SagaStepState::retrying);
  EXPECT_EQ(saga->steps[0].attempts, 0U);
  EXPECT_FALSE(saga->steps[0].doubt);
  EXPECT_EQ(orchestrator_->snapshot().calls, 0U);
  clock_.advance(2s);
  run();
  EXPECT_EQ(calls_.made.size(), 2U) << "it is called later";
}

TEST_F(SagaOrchestratorTest, ACallThatHasBegunIsInDoubtAtItsDeadline) {
  open();
  calls_.begun = true;
  const auto id = start("s1");
  run();
  clock_.advance(2s);
  run();
  EXPECT_EQ(stored(id)->steps[0].attempts, 1U);
  EXPECT_TRUE(stored(id)->steps[0].doubt);
  EXPECT_EQ(calls_.abandoned.size(), 1U);
}

TEST_F(SagaOrchestratorTest, ActsAreTakenWhileAsManyCallsRunAsMay) {
  open({.calls_max = 2});
  const auto first = start("s1");
  start("s2");
  run();
  ASSERT_EQ(calls_.made.size(), 2U);
  const auto third = start("s3");
  run();
  EXPECT_EQ(calls_.made.size(), 2U);
  EXPECT_FALSE(stored(third)) << "its start waits";
  send("s1", SagaCommandKind::pause, act_body(SagaCommandKind::pause, {.actor = "ada"}));
  run();
  EXPECT_EQ(stored(first)->state, SagaState::paused);
  orchestrator_->ended(calls_.made[0].ticket, {.output = "1"});
  run();
  EXPECT_TRUE(stored(third)) << "there is room for its call";
  EXPECT_EQ(calls_.made.size(), 3U);
}

TEST_F(SagaOrchestratorTest, ActsAreTakenWhileAsManySagasAreInMemoryAsMay) {
  open({.instances_max = 2});
  const auto first = start("s1");
  start("s2");
  run();
  ASSERT_EQ(orchestrator_->snapshot().instances, 2U);
  send("s1", SagaCommandKind::pause, act_body(SagaCommandKind::pause, {.actor = "ada"}));
  run();
  EXPECT_EQ(stored(first)->state, SagaState::paused);
}

TEST_F(SagaOrchestratorTest, AFindingIsLoggedOnceAndGoesWithItsShard) {
  open();
  start("s1", 7);
  run();
  run();
  ASSERT_EQ(orchestrator_->findings(10).size(), 1U);
  EXPECT_NE(orchestrator_->findings(10).front().text.find("version 7"), std::string::npos);
  EXPECT_EQ(log_.count(LogLevel::warning, "a saga does not go on in this process"), 1U);
  orchestrator_->lost(Shard{0});
  EXPECT_TRUE(orchestrator_->findings(10).empty());
}

TEST(StraySearch, FindsSagasThatNothingWouldMove) {
  sagabox::testing::FakeClock clock;
  memory::MemoryStore store({.shards = 1, .clock = &clock});
  sagabox::testing::SagaHand hand(
      store, {.name = "travel",
              .steps = {{.name = "flight", .action = "fn:book", .compensation = "none"}}});
  auto waits = hand.fresh("waits");
  waits.steps[0].state = SagaStepState::waiting;
  hand.begin(waits);
  auto stray = hand.fresh("stray");
  stray.steps[0].state = SagaStepState::succeeded;
  hand.begin(stray);
  ownership::testing::RecordingMetrics metrics;
  ownership::testing::RecordingLog log;
  StraySearch search(
      {.store = store.saga_admin(), .clock = clock, .metrics = metrics, .log = log, .mine = [] {
         return std::vector<std::string>{"travel"};
       }});
  for (int look = 0; look < 2; ++look) {
    (void)search.step();
    clock.advance(StraySearch::interval);
    (void)search.step();
    EXPECT_EQ(metrics.value("saga_stray{definition=travel}"), 1);
  }
  EXPECT_EQ(log.count(LogLevel::error, "nothing would move this saga"), 1U) << "named once";
  stray.version = 1;
  stray.state = SagaState::completed;
  hand.write(stray, {.applied = true});
  clock.advance(StraySearch::interval);
  (void)search.step();
  EXPECT_EQ(metrics.value("saga_stray{definition=travel}"), 0);
}

}  // namespace
}  // namespace sagabox::saga
