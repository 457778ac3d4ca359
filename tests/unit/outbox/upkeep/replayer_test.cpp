#include "outbox/upkeep/replayer.hpp"

#include "support/ownership.hpp"

#include <sagabox/stores/memory.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::outbox {
namespace {

using memory::Fault;
using memory::Operation;
using ownership::testing::ManualClock;
using ownership::testing::RecordingLog;
using OwnershipMetrics = ownership::testing::RecordingMetrics;
using std::chrono::milliseconds;
using std::chrono::seconds;
using JobState = ReplayJob::State;

/// Quarantined messages in a memory store, and processes that replay them.
struct World {
  /// A process that replays.
  struct Process {
    explicit Process(World& world) : Process(world, world.store.control()) {}
    Process(World& world, spi::ControlStore& control)
        : replayer({.store = control,
                    .table = world.table,
                    .metrics = world.metrics,
                    .log = world.log,
                    .live = [this](BootTime) { return live; },
                    .fence_broken = [this](Epoch epoch) { broken.push_back(epoch); }}) {}
    Replayer replayer;
    bool live = true;
    std::vector<Epoch> broken;
    WorkerId id;
    std::vector<std::pair<BootTime, std::uint32_t>> replayed;
  };

  World() {
    store.set_faults([this](Operation operation) {
      ++calls[operation];
      if (down) return Fault::refused;
      auto& planned = faults[operation];
      if (planned.empty()) return Fault::none;
      const Fault fault = planned.front();
      planned.pop_front();
      return fault;
    });
    store.outbox().prepare(table).value();
  }

  void quarantine(std::size_t count) {
    std::vector<std::shared_ptr<const Message>> messages;
    std::vector<MessageId> added;
    for (std::size_t i = 0; i < count; ++i) {
      messages.push_back(std::make_shared<const Message>(
          Message::build({.topic = "a.b.c.v1", .payload = json("{}")}, MessageRules{}, ids, clock)
              .value()));
      added.push_back(messages.back()->id());
    }
    (void)store
        .transaction([&](OwnedTransaction& tx) { return tx.outbox().insert(table, messages); })
        .value();
    (void)store.outbox_admin()
        .move({.table = table, .move = spi::Move::quarantine, .ids = added, .actor = "test"})
        .value();
  }
  ReplayJobId create(std::uint32_t rate_max = 0) {
    return store.control()
        .create_job({.table = table,
                     .from = MessageState::quarantined,
                     .rate_max = rate_max,
                     .actor = "test"})
        .value()
        .id;
  }
  void change(ReplayJobId id, JobState to) {
    (void)store.control()
        .change_job({.table = table, .job = id, .to = to, .actor = "test"})
        .value();
  }
  ReplayJob job(ReplayJobId id) {
    const auto was = std::exchange(down, false);
    auto jobs = store.control().jobs(table).value();
    down = was;
    --calls[Operation::look];
    return jobs.at(id.value - 1);
  }
  std::uint64_t pending() { return store.outbox_admin().stats(table).value().pending; }

  /// Takes the scope from whoever has it; its holder until now is not told.
  void acquire(Process& process) {
    const std::vector scopes{Replayer::scope_of(table)};
    if (!owner.empty()) store.ownership().leave(owner).value();
    process.id = owner = ids.next<WorkerId>();
    const auto lease = store.ownership().join(owner, std::chrono::hours(1), scopes, 1).value();
    const auto taken = store.ownership().take(scopes[0], owner, 1).value();
    process.replayer.holder().acquired(taken.at(0), owner, lease.timeline);
  }

  static bool step(Process& process, BootTime now) {
    auto& replayer = process.replayer;
    const auto plan = replayer.plan(now);
    if (!plan) return false;
    auto answer = replayer.perform(*plan);
    if (const auto* reply = std::get_if<Result<spi::JobAdvanceReply>>(&answer);
        reply != nullptr && reply->ok()) {
      process.replayed.emplace_back(now, (*reply)->rows);
    }
    replayer.apply(*plan, std::move(answer), now);
    return true;
  }
  /// Steps at the times `next` names.
  void pass(Process& process, Duration time) {
    const BootTime end = clock.boot_now() + time;
    for (int steps = 0;;) {
      if (step(process, clock.boot_now())) {
        if (++steps > 100'000) throw std::runtime_error("it spins");
        continue;
      }
      const BootTime next = process.replayer.next(clock.boot_now());
      if (next <= clock.boot_now()) throw std::runtime_error("due, but nothing planned");
      if (next > end) break;
      clock.advance_to(next);
    }
    clock.advance_to(end);
  }

  ManualClock clock;
  memory::MemoryStore store{memory::Options{.clock = &clock}};
  TableName table = TableName::parse("orders").value();
  std::unique_ptr<Random> random = seeded_random(7);
  UlidSource ids{clock, *random};
  OwnershipMetrics metrics;
  RecordingLog log;
  std::map<Operation, std::deque<Fault>> faults;
  std::map<Operation, int> calls;
  bool down = false;
  WorkerId owner;
};

class ReplayerTest : public ::testing::Test, protected World {
 protected:
  Process a{*this};
};

TEST_F(ReplayerTest, RunsAJobToItsEndInBatches) {
  quarantine(1200);
  const auto id = create();
  acquire(a);
  pass(a, Duration::zero());
  EXPECT_EQ(job(id).state, JobState::finished);
  EXPECT_EQ(job(id).replayed, 1200U);
  EXPECT_EQ(pending(), 1200U);
  ASSERT_GE(a.replayed.size(), 3U);
  for (const auto& [at, rows] : a.replayed) EXPECT_LE(rows, 500U);
  EXPECT_EQ(metrics.value("outbox_replayed_total{table=orders}"), 1200);
  EXPECT_EQ(log.count(LogLevel::info, "replay runs"), 1U);
  EXPECT_EQ(log.count(LogLevel::info, "replay ended"), 1U);
}

TEST_F(ReplayerTest, LooksEverySecondAndSoonerWhenWoken) {
  acquire(a);
  pass(a, Duration::zero());
  EXPECT_EQ(calls[Operation::look], 1);
  pass(a, milliseconds(5500));
  EXPECT_EQ(calls[Operation::look], 6);
  quarantine(10);
  const auto id = create();
  pass(a, milliseconds(100));
  EXPECT_EQ(job(id).replayed, 0U);
  a.replayer.wake();
  EXPECT_EQ(a.replayer.next(clock.boot_now()), clock.boot_now());
  pass(a, Duration::zero());
  EXPECT_EQ(job(id).state, JobState::finished);
}

TEST_F(ReplayerTest, AsksNothingUnlessItOwnsTheScopeAndIsLive) {
  quarantine(10);
  (void)create();
  calls.clear();
  a.replayer.wake();
  pass(a, seconds(10));
  a.live = false;
  acquire(a);
  calls.clear();
  pass(a, seconds(10));
  a.live = true;
  a.replayer.holder().drain(Shard{0});
  pass(a, seconds(10));
  a.replayer.holder().lost(Shard{0});
  pass(a, seconds(10));
  EXPECT_TRUE(calls.empty());
}

TEST_F(ReplayerTest, JobsTakeTurns) {
  quarantine(5000);
  const auto first = create();
  const auto second = create();
  acquire(a);
  ASSERT_TRUE(step(a, clock.boot_now())) << "looks";
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(step(a, clock.boot_now()));
  // Both match the same rows; whoever comes first replays them.
  EXPECT_GT(job(first).cursor, Sequence{});
  EXPECT_GT(job(second).cursor, Sequence{});
  EXPECT_EQ(job(first).replayed, 1000U);
  EXPECT_EQ(job(second).replayed, 1000U);
}

TEST_F(ReplayerTest, JobThatAnOperatorStopsStopsAtTheNextStepAndGoesOnWhenResumed) {
  quarantine(2000);
  const auto id = create();
  acquire(a);
  ASSERT_TRUE(step(a, clock.boot_now()));
  ASSERT_TRUE(step(a, clock.boot_now()));
  ASSERT_EQ(job(id).replayed, 500U);
  change(id, JobState::stopped);
  pass(a, seconds(10));
  EXPECT_EQ(job(id).replayed, 500U);
  EXPECT_EQ(calls[Operation::advance_job], 2) << "the second heard of it";
  EXPECT_EQ(log.count(LogLevel::info, "replay ended"), 1U);
  change(id, JobState::running);
  pass(a, seconds(2));
  EXPECT_EQ(job(id).replayed, 2000U);
  EXPECT_EQ(job(id).state, JobState::finished);
}

TEST_F(ReplayerTest, AnotherOwnerGoesOnAndTheStaleOneDoesNothing) {
  quarantine(2000);
  const auto id = create();
  acquire(a);
  ASSERT_TRUE(step(a, clock.boot_now()));
  ASSERT_TRUE(step(a, clock.boot_now()));
  Process b(*this);
  acquire(b);
  pass(a, seconds(5));
  EXPECT_EQ(job(id).replayed, 500U);
  EXPECT_EQ(a.broken, std::vector{Epoch{1}}) << "told once, and silent after";
  const auto before = calls[Operation::advance_job];
  a.replayer.wake();
  pass(a, seconds(5));
  EXPECT_EQ(calls[Operation::advance_job], before);
  pass(b, seconds(1));
  EXPECT_EQ(job(id).replayed, 2000U);
  EXPECT_EQ(job(id).state, JobState::finished);
  EXPECT_EQ(pending(), 2000U);
}

TEST_F(ReplayerTest, StaleOwnerWorksAgainOnceItIsBroughtTheScope) {
  quarantine(2000);
  const auto id = create();
  acquire(a);
  ASSERT_TRUE(step(a, clock.boot_now()));
  Process b(*this);
  acquire(b);
  pass(a, seconds(1));
  ASSERT_EQ(a.broken.size(), 1U);
  a.replayer.holder().lost(Shard{0});
  acquire(a);
  pass(a, seconds(1));
  EXPECT_EQ(job(id).state, JobState::finished);
}

TEST_F(ReplayerTest, IsNotIdleDuringACallAndIgnoresAReplyThatComesTooLate) {
  quarantine(2000);
  const auto id = create();
  acquire(a);
  ASSERT_TRUE(step(a, clock.boot_now()));
  const auto plan = a.replayer.plan(clock.boot_now());
  ASSERT_TRUE(plan);
  a.replayer.holder().drain(Shard{0});
  EXPECT_FALSE(a.replayer.holder().idle(Shard{0}));
  auto answer = a.replayer.perform(*plan);
  a.replayer.holder().lost(Shard{0});
  acquire(a);
  a.replayer.apply(*plan, std::move(answer), clock.boot_now());
  EXPECT_TRUE(a.replayer.holder().idle(Shard{0}));
  EXPECT_EQ(metrics.value("outbox_replayed_total{table=orders}"), 500) << "it did happen";
  pass(a, seconds(1));
  EXPECT_EQ(job(id).state, JobState::finished);
  EXPECT_EQ(job(id).replayed, 2000U);
}

TEST_F(ReplayerTest, BatchThatKeepsFailingEndsTheJobAfterWhatWasReplayedAndItCanBeResumed) {
  quarantine(1200);
  const auto id = create();
  acquire(a);
  faults[Operation::advance_job] = std::deque<Fault>(100, Fault::refused);
  faults[Operation::advance_job].push_front(Fault::none);
  pass(a, seconds(60));
  EXPECT_EQ(job(id).state, JobState::failed);
  EXPECT_EQ(job(id).replayed, 500U);
  EXPECT_NE(job(id).error.find("STORAGE.UNAVAILABLE"), std::string::npos) << job(id).error;
  EXPECT_EQ(calls[Operation::advance_job], 6);
  EXPECT_EQ(log.count(LogLevel::error, "replay ended"), 1U);

  faults.clear();
  pass(a, seconds(60));
  EXPECT_EQ(calls[Operation::advance_job], 6) << "nobody but an operator resumes it";
  change(id, JobState::running);
  pass(a, seconds(2));
  EXPECT_EQ(job(id).state, JobState::finished);
  EXPECT_EQ(job(id).replayed, 1200U);
}

TEST_F(ReplayerTest, FailedJobDoesNotHoldUpTheOthers) {
  quarantine(3000);
  (void)create();
  acquire(a);
  faults[Operation::advance_job] = {Fault::refused};
  ASSERT_TRUE(step(a, clock.boot_now()));
  ASSERT_TRUE(step(a, clock.boot_now())) << "fails";
  const auto second = create();
  a.replayer.wake();
  pass(a, milliseconds(50));
  EXPECT_EQ(job(second).state, JobState::finished);
}

TEST_F(ReplayerTest, StoreThatIsAwayFailsNoJob) {
  quarantine(1200);
  const auto id = create();
  acquire(a);
  ASSERT_TRUE(step(a, clock.boot_now()));
  down = true;
  pass(a, seconds(600));
  EXPECT_LT(calls[Operation::look], 100) << "with growing pauses";
  EXPECT_EQ(job(id).state, JobState::running);
  down = false;
  pass(a, seconds(30));
  EXPECT_EQ(job(id).state, JobState::finished);
}

TEST_F(ReplayerTest, LostRepliesReplayNothingTwiceAndFailNoJob) {
  quarantine(6000);
  const auto id = create();
  acquire(a);
  faults[Operation::advance_job] = std::deque<Fault>(12, Fault::lost_after);
  pass(a, seconds(120));
  EXPECT_EQ(job(id).state, JobState::finished);
  EXPECT_EQ(job(id).replayed, 6000U);
  EXPECT_EQ(pending(), 6000U);
}

TEST_F(ReplayerTest, FailureThatCannotBeWrittenDownIsTriedAgain) {
  quarantine(100);
  const auto id = create();
  acquire(a);
  faults[Operation::advance_job] = std::deque<Fault>(5, Fault::lost_before);
  faults[Operation::change_job] = {Fault::refused, Fault::lost_after};
  pass(a, seconds(120));
  EXPECT_EQ(job(id).state, JobState::failed);
  EXPECT_EQ(calls[Operation::advance_job], 5);
  EXPECT_EQ(calls[Operation::change_job], 2);
}

TEST_F(ReplayerTest, OperatorWhoStopsAFailingJobIsNotOverruled) {
  quarantine(100);
  const auto id = create();
  acquire(a);
  faults[Operation::advance_job] = std::deque<Fault>(5, Fault::refused);
  std::optional<ReplayPlan> plan;
  for (;;) {
    plan = a.replayer.plan(clock.boot_now());
    if (!plan) {
      clock.advance_to(a.replayer.next(clock.boot_now()));
    } else if (std::holds_alternative<ReplayPlan::Fail>(plan->call)) {
      break;
    } else {
      a.replayer.apply(*plan, a.replayer.perform(*plan), clock.boot_now());
    }
  }
  change(id, JobState::stopped);
  a.replayer.apply(*plan, a.replayer.perform(*plan), clock.boot_now());
  pass(a, seconds(20));
  EXPECT_EQ(job(id).state, JobState::stopped);
}

/// Whatever the rate, however late the steps and however often the owner changes: no window of
/// time sees more than rate × t and a burst.
RC_GTEST_PROP(Replayer, KeepsTheRateOverTime, ()) {
  World world;
  const auto rate = *rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(1, 30),
                                    rc::gen::inRange<std::uint32_t>(30, 2000));
  world.quarantine(3000);
  const auto id = world.create(rate);
  World::Process process(world);
  world.acquire(process);
  const auto hand_overs = *rc::gen::inRange<std::uint64_t>(0, 3);
  const BootTime start = world.clock.boot_now();
  while (world.job(id).state == JobState::running && world.clock.boot_now() < start + seconds(5)) {
    if (world.random->below(50) < hand_overs) {
      process.replayer.holder().lost(Shard{0});
      world.acquire(process);
    }
    world.pass(process, Duration::zero());
    world.clock.advance(milliseconds(world.random->below(200)));
  }
  const double burst = std::max(rate / 5, 1U);
  std::uint64_t total = 0;
  for (std::size_t from = 0; from < process.replayed.size(); ++from) {
    total += process.replayed[from].second;
    std::uint64_t rows = 0;
    for (std::size_t to = from; to < process.replayed.size(); ++to) {
      rows += process.replayed[to].second;
      const std::chrono::duration<double> window =
          process.replayed[to].first - process.replayed[from].first;
      RC_ASSERT(static_cast<double>(rows) <= rate * window.count() + burst + 1e-6);
    }
  }
  RC_ASSERT(total == world.job(id).replayed);
}

/// Processes with workers of their own on a store that fails, an operator who stops and resumes:
/// every message is replayed once, and the job ends.
RC_GTEST_PROP(Replayer, ReplaysEverythingOnceWhateverHappens, ()) {
  struct Node {
    explicit Node(World& world)
        : process(world),
          worker({.store = world.store.ownership(), .ids = world.ids, .clock = world.clock},
                 {{.scope = Replayer::scope_of(world.table),
                   .shards = 1,
                   .holder = &process.replayer.holder()}}) {}
    World::Process process;
    ownership::Worker worker;
  };
  const auto dice = seeded_random(*rc::gen::arbitrary<std::uint64_t>());
  auto& random = *dice;
  World world;
  world.quarantine(2000);
  const auto id = world.create(*rc::gen::element(0U, 100U, 1000U));
  const auto scope = Replayer::scope_of(world.table);
  const auto faults = *rc::gen::inRange<std::uint64_t>(0, 40);
  bool in_trouble = true;
  world.store.set_faults([&](Operation) {
    if (!in_trouble || random.below(100) >= faults) return Fault::none;
    constexpr std::array kinds{Fault::refused, Fault::lost_before, Fault::lost_after};
    return kinds[random.below(kinds.size())];
  });
  std::vector<std::unique_ptr<Node>> nodes;
  for (int i = 0; i < 3; ++i) nodes.push_back(std::make_unique<Node>(world));
  const auto change = [&](JobState to) {
    (void)world.store.control().change_job({.table = world.table, .job = id, .to = to});
  };
  const auto run = [&](Node& node) {
    (void)node.worker.step();
    node.process.live = node.worker.live(world.clock.boot_now());
    (void)World::step(node.process, world.clock.boot_now());
    for (const auto epoch : std::exchange(node.process.broken, {})) {
      node.worker.shard_lost(Replayer::scope_of(world.table), Shard{0}, epoch);
    }
  };
  for (int i = 0; i < 600; ++i) {
    auto& node = nodes[random.below(nodes.size())];
    run(*node);
    switch (random.below(60)) {
      case 0:
        node = std::make_unique<Node>(world);  // a crash
        break;
      case 1:
        random.below(2) == 0 ? node->worker.pause(scope) : node->worker.resume(scope);
        break;
      case 2:
        change(random.below(3) == 0 ? JobState::stopped : JobState::running);
        break;
      default:
        world.clock.advance(milliseconds(random.below(100)));
    }
  }
  in_trouble = false;
  change(JobState::running);
  for (auto& node : nodes) node->worker.resume(scope);
  for (int i = 0; i < 5000 && world.job(id).state == JobState::running; ++i) {
    for (auto& node : nodes) run(*node);
    world.clock.advance(milliseconds(50));
  }
  RC_ASSERT(world.job(id).state == JobState::finished);
  RC_ASSERT(world.job(id).replayed == 2000U);
  RC_ASSERT(world.pending() == 2000U);
}

/// Looks at few rows a call, whatever it is asked for.
class ShortBatches final : public spi::ControlStore {
 public:
  explicit ShortBatches(spi::ControlStore& store) : store_(store) {}
  Result<spi::Controls> controls(const TableName& table) override { return store_.controls(table); }
  Result<bool> set_pause(const spi::PauseRequest& request) override {
    return store_.set_pause(request);
  }
  Result<ReplayJob> create_job(const spi::NewReplayJob& request) override {
    return store_.create_job(request);
  }
  Result<std::vector<ReplayJob>> jobs(const TableName& table) override {
    return store_.jobs(table);
  }
  Result<ReplayJob> change_job(const spi::JobChange& change) override {
    return store_.change_job(change);
  }
  Result<spi::JobAdvanceReply> advance_job(const spi::JobAdvance& request) override {
    auto fewer = request;
    fewer.rows_max = std::min(fewer.rows_max, 3U);
    return store_.advance_job(fewer);
  }

 private:
  spi::ControlStore& store_;
};

TEST_F(ReplayerTest, ShortBatchesDoNotSlowAJobDown) {
  ShortBatches control(store.control());
  Process b(*this, control);
  quarantine(3000);
  const auto id = create(200);
  acquire(b);
  pass(b, seconds(10));
  EXPECT_GE(job(id).replayed, 1960U);
  EXPECT_LE(job(id).replayed, 2000U);
}

TEST_F(ReplayerTest, TheRateIsReached) {
  quarantine(3000);
  const auto id = create(200);
  acquire(a);
  pass(a, seconds(10));
  EXPECT_GE(job(id).replayed, 1960U);
  EXPECT_LE(job(id).replayed, 2000U);
}

}  // namespace
}  // namespace sagabox::outbox
