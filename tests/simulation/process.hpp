#pragma once

#include "outbox/relay.hpp"
#include "outbox/upkeep/purger.hpp"
#include "outbox/upkeep/replayer.hpp"
#include "outbox/writer.hpp"
#include "ownership/worker.hpp"
#include "simulation/variants.hpp"
#include "simulation/world.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace sagabox::simulation {

/// A process's clocks: the wall clock may be set by somebody, the boot clock runs evenly.
class ProcessClock final : public Clock {
 public:
  explicit ProcessClock(const World& world) : world_(world) {}
  [[nodiscard]] WallTime wall_now() const override;
  [[nodiscard]] BootTime boot_now() const override { return world_.now(); }
  void jump(Duration by) { ahead_ += by; }

 private:
  const World& world_;
  Duration ahead_{};
};

/// A process: the engine's own classes, and for every thread of the engine an actor whose steps
/// are events of the world.
class Process {
 public:
  Process(World& world, std::size_t slot, std::uint64_t id);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] std::size_t slot() const noexcept { return slot_; }
  outbox::Writer& writer() noexcept { return *writer_; }
  ProcessClock& clock() noexcept { return clock_; }
  [[nodiscard]] WorkerId worker_id() const { return worker_->id(); }

  void begin();
  void begin_stop();
  [[nodiscard]] bool stopping() const noexcept { return stopping_; }
  void reopen();

  BootTime paused_until{};
  /// What its threads are in the middle of.
  [[nodiscard]] bool handler_runs() const noexcept { return handlers_running_ > 0; }
  [[nodiscard]] bool settle_runs() const noexcept { return settle_plan_.has_value(); }

  void check_bounds();
  /// Empty when nothing is left in memory.
  [[nodiscard]] std::string leftovers() const;

 private:
  class Watched;  // sees every call to the store
  class Seat;     // sees which shards come and go

  struct Running {
    std::uint64_t number = 0;
    Act act;
    Outcome outcome{};
  };

  void then(Duration delay, void (Process::*step)());
  void then_runner(Duration delay, std::size_t runner, void (Process::*step)(std::size_t));
  void plan_read();
  void perform_read();
  void apply_read();
  void plan_settle();
  void perform_settle();
  void apply_settle();
  void plan_ownership();
  void perform_ownership();
  void apply_ownership();
  void ask_controls();
  void apply_controls();
  void plan_replay();
  void perform_replay();
  void apply_replay();
  void plan_purge();
  void perform_purge();
  void apply_purge();
  void watch();
  void take(std::size_t runner);
  void invoke(std::size_t runner);
  void complete(std::size_t runner);
  void drain_limit();
  Outcome answer(const Delivery& delivery);
  void count_act(const Act& act);
  [[nodiscard]] bool dies_here();

  World& world_;
  const std::size_t slot_;
  const std::uint64_t id_;
  ProcessClock clock_;
  std::unique_ptr<Random> random_;
  OutboxOptions options_;
  UlidSource ids_;
  outbox::Registry registry_;
  std::unique_ptr<spi::OutboxStore> store_;
  std::unique_ptr<Watched> watched_;
  std::unique_ptr<outbox::Relay> relay_;
  std::unique_ptr<Seat> seat_;
  std::optional<outbox::Replayer> replayer_;
  std::optional<outbox::Purger> purger_;
  std::unique_ptr<ownership::Worker> worker_;
  std::unique_ptr<outbox::Writer> writer_;

  std::optional<outbox::ReadPlan> read_plan_;
  std::optional<outbox::ReadAnswer> read_answer_;
  std::optional<outbox::SettlePlan> settle_plan_;
  std::uint32_t refused_ = 0;  // settles, in a broken variant
  std::optional<Result<spi::SettleReply>> settle_reply_;
  std::optional<ownership::Request> request_;
  std::optional<ownership::Reply> reply_;
  std::optional<Result<spi::Controls>> controls_;
  std::optional<outbox::ReplayPlan> replay_plan_;
  std::optional<outbox::ReplayAnswer> replay_answer_;
  std::optional<outbox::PurgePlan> purge_plan_;
  std::optional<outbox::PurgeAnswer> purge_answer_;
  std::set<std::string> paused_{""};  // as this process knows; everything before its first look
  std::set<std::string> paused_next_;
  std::vector<std::optional<Running>> running_;
  std::unordered_map<Sequence, Act> acts_;  // of the messages that run
  std::size_t handlers_running_ = 0;
  std::uint32_t ticks_ = 0;
  std::uint64_t hot_dropped_ = 0;
  bool stopping_ = false;
};

}  // namespace sagabox::simulation
