#pragma once

#include "feed/tracker.hpp"
#include "outbox/brief_mutex.hpp"
#include "outbox/dispatch/room.hpp"
#include "outbox/read/shard_state.hpp"
#include "ownership/worker.hpp"
#include "runtime/wakeup.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace sagabox::outbox {

/// The shards of a table, each with its own lock, and the state that the stages of the pipeline
/// share: owners, and the number of results to be settled. Thread-safe.
class Shards {
 public:
  struct Slot {
    Slot(Shard shard, const ShardState::Settings& settings, Room& room,
         std::unique_ptr<feed::Tracker> tracker)
        : state(shard, settings, room, std::move(tracker)) {}
    mutable BriefMutex mutex;
    ShardState state;
    WorkerId owner;
  };

  Shards(spi::Scope scope, const ShardState::Settings& settings, Room& room,
         const feed::TrackerFactory& tracker, std::uint32_t places_max);

  /// Sets the worker with the lease; call it before the first step.
  void attach(ownership::Worker& worker) noexcept { worker_.store(&worker); }
  [[nodiscard]] bool live(BootTime now) const {
    const auto* const worker = worker_.load(std::memory_order_acquire);
    return worker != nullptr && worker->live(now);
  }

  [[nodiscard]] const spi::Scope& scope() const noexcept { return scope_; }
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
  [[nodiscard]] Slot& at(Shard shard) const { return *slots_[shard.value]; }
  [[nodiscard]] Slot& at(std::size_t number) const { return *slots_[number]; }
  /// Calls `work(state)` with the shard locked.
  template <class Work>
  auto with(Shard shard, Work&& work) const {
    auto& slot = at(shard);
    const std::scoped_lock lock(slot.mutex);
    return std::forward<Work>(work)(slot.state);
  }

  void acquire(const spi::OwnedShard& shard, const WorkerId& owner, Timeline timeline);
  /// Calls `check_blocked_keys` of all shards.
  void check_blocked_keys();
  void lose(Shard shard) { drop(shard, std::nullopt); }
  /// A settle found that the shard has another owner or epoch.
  void fence_broken(const spi::Fence& fence);
  /// Returns false if a reply comes from another timeline of the database; it must not be used.
  [[nodiscard]] bool same_timeline(Timeline seen);

  /// A place is taken before a message is dispatched and freed when its result is stored, so that a
  /// result never waits for a place.
  bool take_place();
  void add_places(std::size_t count) { places_.fetch_add(static_cast<std::uint32_t>(count)); }
  void free_places(std::size_t count);
  [[nodiscard]] std::uint32_t places_taken() const { return places_.load(); }
  [[nodiscard]] bool places_left() const { return places_.load() < places_max_; }

  /// A settlement has been added to a shard.
  void settlement_added(BootTime now);
  void settlements_collected(std::size_t count) {
    settlements_.fetch_sub(static_cast<std::uint32_t>(count));
  }
  [[nodiscard]] std::uint32_t settlements() const { return settlements_.load(); }
  [[nodiscard]] BootTime oldest_settlement() const {
    return BootTime(Duration(oldest_settlement_.load()));
  }
  /// Notifies the settler at the first settlement and when `batch` of them wait.
  void wake_settler_at(std::uint32_t batch) noexcept { settle_batch_ = batch; }
  runtime::Wakeup& settle_wakeup() noexcept { return settle_wakeup_; }
  /// Notified when reading may continue.
  runtime::Wakeup& room_wakeup() noexcept { return room_wakeup_; }

 private:
  /// Drops the shard only if its epoch is `epoch`, if given.
  void drop(Shard shard, std::optional<Epoch> epoch);

  spi::Scope scope_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::atomic<ownership::Worker*> worker_{nullptr};
  std::atomic<std::uint64_t> timeline_{0};

  const std::uint32_t places_max_;
  std::uint32_t settle_batch_ = 1;
  alignas(64) std::atomic<std::uint32_t> places_{0};
  alignas(64) std::atomic<std::uint32_t> settlements_{0};
  std::atomic<BootTime::rep> oldest_settlement_{0};
  runtime::Wakeup settle_wakeup_;
  runtime::Wakeup room_wakeup_;
};

}  // namespace sagabox::outbox
