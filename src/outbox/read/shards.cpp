#include "outbox/read/shards.hpp"

namespace sagabox::outbox {

Shards::Shards(spi::Scope scope, const ShardState::Settings& settings, Room& room,
               const feed::TrackerFactory& tracker, std::uint32_t places_max)
    : scope_(std::move(scope)), places_max_(places_max) {
  for (std::uint16_t shard = 0; shard < settings.store.shards; ++shard) {
    slots_.push_back(std::make_unique<Slot>(Shard{shard}, settings, room, tracker()));
  }
}

void Shards::acquire(const spi::OwnedShard& shard, const WorkerId& owner, Timeline timeline) {
  timeline_.store(timeline.value);
  auto& slot = at(shard.shard);
  const std::scoped_lock lock(slot.mutex);
  slot.state.acquire(shard);
  slot.owner = owner;
}

void Shards::check_blocked_keys() {
  for (auto& slot : slots_) {
    const std::scoped_lock lock(slot->mutex);
    slot->state.check_blocked_keys();
  }
}

void Shards::drop(Shard shard, std::optional<Epoch> epoch) {
  std::size_t places = 0;
  std::size_t waiting = 0;
  {
    auto& slot = at(shard);
    const std::scoped_lock lock(slot.mutex);
    if (epoch && slot.state.epoch() != *epoch) return;
    waiting = slot.state.settlements_waiting();
    places = slot.state.drop();
  }
  settlements_collected(waiting);
  free_places(places);
}

void Shards::fence_broken(const spi::Fence& fence) {
  // The shard may have been taken again in the meantime, at another epoch.
  drop(fence.shard, fence.epoch);
  if (auto* const worker = worker_.load()) {
    worker->shard_lost(scope_, fence.shard, fence.epoch);
  }
}

bool Shards::same_timeline(Timeline seen) {
  if (seen.value == timeline_.load()) return true;
  if (auto* const worker = worker_.load()) worker->timeline_changed(seen);
  return false;
}

bool Shards::take_place() {
  if (places_.fetch_add(1) < places_max_) return true;
  places_.fetch_sub(1);
  return false;
}

void Shards::free_places(std::size_t count) {
  if (count == 0) return;
  places_.fetch_sub(static_cast<std::uint32_t>(count));
  room_wakeup_.notify_all();
}

void Shards::settlement_added(BootTime now) {
  const auto before = settlements_.fetch_add(1);
  if (before == 0) oldest_settlement_.store(now.time_since_epoch().count());
  if (before == 0 || before + 1 == settle_batch_) settle_wakeup_.notify_one();
}

}  // namespace sagabox::outbox
