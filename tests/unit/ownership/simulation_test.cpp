#include "ownership/worker.hpp"
#include "support/ownership.hpp"

#include <sagabox/stores/memory.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace sagabox::ownership {
namespace {

using memory::Fault;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ManualClock;
using testing::RecordingHolder;

/// The shards that are shared, and one that a single worker holds.
const spi::Scope shared_scope = "outbox:orders";
const spi::Scope single_scope = "purge:orders";

/// A process: its worker, what it works on, and where in a step it is.
struct Process {
  RecordingHolder shared;
  RecordingHolder single;
  std::unique_ptr<Worker> worker;
  std::optional<Request> request;
  std::optional<Reply> reply;
  BootTime hangs_until = BootTime::min();
  bool paused = false;          // by an operator
  bool pause_seen = false;      // this pause has come to its end
  bool resumed = false;         // drains that a pause began may still go on
  std::size_t seen_shared = 0;  // acquisitions looked at
  std::size_t seen_single = 0;
};

struct Settings {
  std::uint64_t seed = 0;
  std::size_t processes = 1;
  std::uint16_t shards = 1;
  std::uint64_t faults_percent = 0;
  /// Commits get lost now and then. Until everybody has noticed, only the fence of the settles
  /// keeps owners apart.
  bool fail_overs = false;
};

/// Processes that step in any order, crash, hang and talk to a store that fails. Throws what went
/// wrong as soon as it does.
class World {
 public:
  explicit World(const Settings& settings)
      : settings_(settings), random_(seeded_random(settings.seed)), ids_(clock_, *random_) {
    database_.set_faults([this](memory::Operation) { return fault(); });
    for (std::size_t i = 0; i < settings_.processes; ++i) processes_.push_back(start());
  }

  void trouble(int steps) {
    for (int i = 0; i < steps; ++i) {
      clock_.advance(milliseconds(random_->below(random_->below(20) == 0 ? 400 : 20)));
      misfortune();
      work(pick());
      micro_step(pick());
      check();
    }
  }

  /// Everybody lives and the store answers, for long enough to take over and hand over all. Those
  /// that an operator has paused stay so, the first excepted.
  void peace() {
    peaceful_ = true;
    for (auto& process : processes_) {
      process->hangs_until = BootTime::min();
      process->worker->set_hanging(shared_scope, false);
    }
    pause(*processes_.front(), false);
    const BootTime end = clock_.boot_now() + seconds(40) + seconds(2) * settings_.shards;
    while (clock_.boot_now() < end) {
      BootTime next = end;
      for (std::size_t i = 0; i < processes_.size(); ++i) {
        add_single(*processes_[i]);
        processes_[i]->shared.busy.clear();
        processes_[i]->single.busy.clear();
        do micro_step(*processes_[i]);
        while (processes_[i]->request);
        next = std::min(next, processes_[i]->worker->next_due());
      }
      check();
      clock_.advance_to(next);
    }
  }

  void check_settled() {
    const auto census = database_.ownership().census(shared_scope).value();
    expect(census.shards.size() == settings_.shards, "the store names every shard");
    std::size_t least = settings_.shards;
    std::size_t most = 0;
    std::size_t held = 0;
    for (const auto& process : processes_) {
      const auto& holds = process->shared.holds;
      if (process->paused) {
        expect(process->worker->paused(shared_scope), "a pause comes to its end");
        ++pauses_kept_;
        continue;
      }
      expect(process->worker->live(clock_.boot_now()), "everybody is live again");
      expect(process->shared.draining() == 0, "nothing is being handed over");
      least = std::min(least, holds.size());
      most = std::max(most, holds.size());
      held += holds.size();
      for (const auto& [shard, hold] : holds) {
        const auto& owner = census.shards[shard.value];
        expect(owner.owner == process->worker->id(), "the store names the holder as owner");
        expect(owner.epoch == hold.shard.epoch, "holder and store agree on the epoch");
      }
    }
    expect(held == settings_.shards, "every shard is held");
    expect(most - least <= 1, "shares differ by at most one");
    const auto single = std::ranges::count_if(
        processes_, [](const auto& process) { return process->single.holds.size() == 1; });
    expect(single == 1, "one holds the single shard");
  }

  [[nodiscard]] std::uint64_t hand_overs() const { return hand_overs_; }
  [[nodiscard]] std::uint64_t hangs() const { return hangs_; }
  [[nodiscard]] std::uint64_t returns() const { return returns_; }
  [[nodiscard]] std::uint64_t pauses() const { return pauses_; }
  [[nodiscard]] std::uint64_t pauses_kept() const { return pauses_kept_; }

 private:
  static void expect(bool condition, const char* what) {
    if (!condition) throw std::runtime_error(std::string("violated: ") + what);
  }

  Fault fault() {
    if (peaceful_ || random_->below(100) >= settings_.faults_percent) return Fault::none;
    constexpr std::array faults{Fault::refused, Fault::lost_before, Fault::lost_after};
    return faults[random_->below(faults.size())];
  }

  std::unique_ptr<Process> start() {
    auto process = std::make_unique<Process>();
    std::vector<ScopeOptions> scopes{
        {.scope = shared_scope, .shards = settings_.shards, .holder = &process->shared},
        {.scope = single_scope, .shards = 1, .share = Share::all, .holder = &process->single}};
    process->worker = std::make_unique<Worker>(
        WorkerParts{.store = database_.ownership(), .ids = ids_, .clock = clock_},
        std::move(scopes), WorkerOptions{});
    return process;
  }

  /// Again, if it was removed and has been forgotten.
  void add_single(Process& process) {
    if (process.worker->has(single_scope) || process.worker->stopped()) return;
    expect(process.single.holds.empty(), "who has left holds nothing");
    process.worker->add(
        {.scope = single_scope, .shards = 1, .share = Share::all, .holder = &process.single});
    if (process.paused) process.worker->pause(single_scope);
    ++returns_;
  }

  Process& pick() { return *processes_[random_->below(processes_.size())]; }

  void misfortune() {
    auto& process = processes_[random_->below(processes_.size())];
    switch (random_->below(400)) {
      case 0:
        // Its last statement may still reach the database.
        if (process->request && !process->reply) ghosts_.push_back(std::move(process));
        process = start();
        break;
      case 1:
      case 2:
        process->hangs_until = clock_.boot_now() + milliseconds(random_->below(30'000));
        break;
      case 3:
        process->worker->begin_stop();
        break;
      case 4:
        process->worker->abandon_remaining();
        break;
      case 5:
        if (settings_.fail_overs) (void)database_.fail_over();
        break;
      case 6:
        if (settings_.fail_overs) database_.checkpoint();
        break;
      case 7:
      case 8:
        pause(*process, true);
        break;
      case 9:
      case 10:
      case 11:
        pause(*process, false);
        break;
      case 12:
        process->worker->set_hanging(shared_scope, true);
        ++hangs_;
        break;
      case 13:
      case 14:
        process->worker->set_hanging(shared_scope, false);
        break;
      case 15:
        process->worker->remove(single_scope);
        if (random_->below(2) == 0) process->worker->abandon(single_scope);
        break;
      case 16:
      case 17:
        add_single(*process);
        break;
      default:
        break;
    }
    if (!ghosts_.empty() && random_->below(50) == 0) {
      (void)ghosts_.back()->worker->perform(*ghosts_.back()->request);
      ghosts_.pop_back();
    }
  }

  static void pause(Process& process, bool paused) {
    if (paused) {
      for (const auto& scope : {shared_scope, single_scope}) process.worker->pause(scope);
    } else {
      for (const auto& scope : {shared_scope, single_scope}) process.worker->resume(scope);
      process.resumed = process.paused || process.resumed;
      process.pause_seen = false;
    }
    process.paused = paused;
  }

  /// A message begins or ends; it begins only as dispatch would let it.
  void work(Process& process) {
    auto& holder = process.shared;
    const Shard shard{static_cast<std::uint16_t>(random_->below(settings_.shards))};
    if (holder.busy.erase(shard) > 0) return;
    const auto hold = holder.holds.find(shard);
    if (hold != holder.holds.end() && !hold->second.draining &&
        process.worker->live(clock_.boot_now())) {
      holder.busy.insert(shard);
    }
  }

  void micro_step(Process& process) {
    const BootTime now = clock_.boot_now();
    if (now < process.hangs_until) return;
    if (!process.request) {
      const auto held_before = process.shared.holds;
      process.request = process.worker->plan(now);
      if (process.request) check_release(process, held_before);
    } else if (!process.reply) {
      process.reply = process.worker->perform(*process.request);
    } else {
      process.worker->apply(*process.request, std::move(*process.reply), now);
      process.request.reset();
      process.reply.reset();
    }
    if (process.worker->stopped()) {
      for (auto& other : processes_) {
        if (other.get() == &process) {
          other = start();
          break;
        }
      }
    }
  }

  void check_release(const Process& process,
                     const std::map<Shard, RecordingHolder::Hold>& held_before) {
    const auto* release = std::get_if<Request::Release>(&process.request->call);
    if (release == nullptr || release->scope != 0) return;
    for (const auto& shard : release->shards) {
      if (!held_before.contains(shard.shard) || shard.unclean) continue;
      expect(!process.shared.busy.contains(shard.shard), "a busy shard is not released");
      ++hand_overs_;
    }
  }

  void check() {
    for (auto& process : processes_) {
      expect(process->shared.violations.empty(), "the shared scope's holder is told in order");
      expect(process->single.violations.empty(), "the single scope's holder is told in order");
    }
    check_one_at_a_time();
    check_paused();
    if (settings_.fail_overs) return;
    for (auto& process : processes_) {
      check_epochs(process->shared, process->seen_shared, epochs_shared_);
      check_epochs(process->single, process->seen_single, epochs_single_);
    }
    check_exclusive(&Process::shared);
    check_exclusive(&Process::single);
  }

  static void check_epochs(const RecordingHolder& holder, std::size_t& seen,
                           std::map<Shard, Epoch>& epochs) {
    for (; seen < holder.acquisitions.size(); ++seen) {
      const auto& shard = holder.acquisitions[seen];
      expect(shard.epoch > epochs[shard.shard], "an epoch is acquired once and only rises");
      epochs[shard.shard] = shard.epoch;
    }
  }

  void check_exclusive(RecordingHolder Process::* holder) {
    std::map<Shard, const Process*> owners;
    for (const auto& process : processes_) {
      if (!process->worker->live(clock_.boot_now())) continue;
      for (const auto& [shard, hold] : ((*process).*holder).holds) {
        expect(owners.emplace(shard, process.get()).second,
               "no two live workers hold the same shard");
      }
    }
  }

  void check_one_at_a_time() {
    for (const auto& process : processes_) {
      const auto draining = process->shared.draining();
      if (draining == 0) process->resumed = false;
      // A worker that stops or pauses drains everything it holds.
      expect(draining <= 1 || draining == process->shared.holds.size() || process->resumed,
             "shards are handed over one at a time");
    }
  }

  void check_paused() {
    for (const auto& process : processes_) {
      if (process->worker->away()) {
        expect(!process->worker->live(clock_.boot_now()), "who is away is not live");
      }
      if (!process->worker->paused(shared_scope)) continue;
      expect(process->paused, "only who was told to pauses");
      expect(process->shared.holds.empty(), "who is paused holds nothing");
      if (!std::exchange(process->pause_seen, true)) ++pauses_;
    }
  }

  Settings settings_;
  ManualClock clock_;
  memory::MemoryStore database_{memory::Options{.clock = &clock_}};
  std::unique_ptr<Random> random_;
  UlidSource ids_;
  bool peaceful_ = false;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Process>> ghosts_;  // crashed with a statement under way
  std::map<Shard, Epoch> epochs_shared_;
  std::map<Shard, Epoch> epochs_single_;
  std::uint64_t hand_overs_ = 0;
  std::uint64_t hangs_ = 0;
  std::uint64_t returns_ = 0;      // of a scope that was removed
  std::uint64_t pauses_ = 0;       // that came to their end
  std::uint64_t pauses_kept_ = 0;  // to the end of the run
};

Settings any_settings() {
  Settings settings;
  settings.seed = *rc::gen::arbitrary<std::uint64_t>();
  settings.processes = *rc::gen::inRange<std::size_t>(1, 7);
  settings.shards = *rc::gen::inRange<std::uint16_t>(1, 25);
  settings.faults_percent = *rc::gen::inRange<std::uint64_t>(0, 40);
  return settings;
}

RC_GTEST_PROP(OwnershipSimulation, SurvivesAnyTroubleAndSettles, ()) {
  World world(any_settings());
  world.trouble(4000);
  world.peace();
  world.check_settled();
}

RC_GTEST_PROP(OwnershipSimulation, SettlesAfterFailOversThatLoseCommits, ()) {
  auto settings = any_settings();
  settings.fail_overs = true;
  World world(settings);
  world.trouble(2000);
  world.peace();
  world.check_settled();
}

TEST(OwnershipSimulation, TroubleIncludesHandOvers) {
  World world({.seed = 1, .processes = 4, .shards = 16, .faults_percent = 10});
  world.trouble(20'000);
  world.peace();
  world.check_settled();
  EXPECT_GT(world.hand_overs(), 50U);
}

TEST(OwnershipSimulation, TroubleIncludesPauses) {
  std::uint64_t pauses = 0;
  std::uint64_t kept = 0;
  std::uint64_t hangs = 0;
  std::uint64_t returns = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    World world({.seed = seed, .processes = 4, .shards = 16, .faults_percent = 10});
    world.trouble(4000);
    world.peace();
    world.check_settled();
    pauses += world.pauses();
    kept += world.pauses_kept();
    hangs += world.hangs();
    returns += world.returns();
  }
  EXPECT_GT(pauses, 50U);
  EXPECT_GT(kept, 10U);
  EXPECT_GT(hangs, 50U);
  EXPECT_GT(returns, 50U);
}

}  // namespace
}  // namespace sagabox::ownership
