#include "transports/under_way.hpp"

#include "transports/room_wait.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sagabox::transports {

UnderWay::UnderWay(std::uint32_t parcels_max) : slots_(parcels_max) {
  free_.reserve(parcels_max);
  for (auto slot = parcels_max; slot > 0; --slot) free_.push_back(slot - 1);
}

bool UnderWay::admit(std::span<spi::Parcel> parcels, spi::SendResults& results,
                     std::vector<Admitted>& taken) {
  std::size_t admitted = 0;
  bool is_shut = false;
  bool is_earlier = false;
  {
    const std::lock_guard lock(mutex_);
    is_shut = shut_;
    const auto room = is_shut ? std::size_t{0} : free_.size();
    for (auto& parcel : parcels.first(std::min(room, parcels.size()))) {
      const auto index = free_.back();
      free_.pop_back();
      auto& slot = slots_[index];
      slot.results = &results;
      slot.ticket = parcel.ticket;
      slot.deadline = parcel.deadline;
      slot.address = parcel.address.get();
      slot.stage = Stage::waiting;
      if (slot.deadline < next_due_) {
        next_due_ = slot.deadline;
        is_earlier = true;
      }
      taken.push_back({{index, slot.turn}, std::move(parcel)});
      ++admitted;
    }
  }
  for (const auto& parcel : parcels.subspan(admitted)) {
    if (is_shut) {
      results.sent(parcel.ticket, {spi::SendResult::Kind::unreachable, "the transport is closed"});
    } else {
      results.sent(parcel.ticket, {spi::SendResult::Kind::later,
                                   "as many are under way as in_flight_max allows (" +
                                       std::to_string(slots_.size()) + ")",
                                   room_wait});
    }
  }
  return is_earlier;
}

const UnderWay::Slot* UnderWay::find(Key key) const {
  if (key.slot >= slots_.size()) return nullptr;
  const auto& slot = slots_[key.slot];
  return slot.results != nullptr && slot.turn == key.turn ? &slot : nullptr;
}

UnderWay::Slot* UnderWay::find(Key key) {
  return const_cast<Slot*>(std::as_const(*this).find(key));  // NOLINT(*-const-cast): our own
}

UnderWay::Told UnderWay::release(Slot& slot) {
  const Told told{std::exchange(slot.results, nullptr), slot.ticket, slot.stage};
  ++slot.turn;
  free_.push_back(static_cast<std::uint32_t>(&slot - slots_.data()));
  ++telling_;
  return told;
}

void UnderWay::told_all(std::size_t count) {
  telling_ -= count;
  if (!shut_) return;
  // A waiting thread has either checked before this or is waiting by now.
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void UnderWay::tell(std::span<const Told> told,
                    const std::function<spi::SendResult(const Told&)>& result) {
  if (told.empty()) return;
  for (const auto& one : told) one.results->sent(one.ticket, result(one));
  told_all(told.size());
}

bool UnderWay::leave(Key key, BootTime now) {
  const std::lock_guard lock(mutex_);
  auto* const slot = find(key);
  if (slot == nullptr) return false;
  slot->stage = Stage::sent;
  slot->sent_at = now;
  return true;
}

void UnderWay::leave(std::span<const Key> keys, BootTime now, std::vector<bool>& may) {
  may.assign(keys.size(), false);
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto* const slot = find(keys[i]);
    if (slot == nullptr) continue;
    slot->stage = Stage::sent;
    slot->sent_at = now;
    may[i] = true;
  }
}

void UnderWay::stay(Key key) {
  const std::lock_guard lock(mutex_);
  if (auto* const slot = find(key)) slot->stage = Stage::waiting;
}

const spi::Address* UnderWay::inquire(Key key) {
  const std::lock_guard lock(mutex_);
  auto* const slot = find(key);
  if (slot == nullptr) return nullptr;
  slot->stage = Stage::inquired;
  return slot->address;
}

const spi::Address* UnderWay::address_of(Key key) const {
  const std::lock_guard lock(mutex_);
  const auto* const slot = find(key);
  return slot == nullptr ? nullptr : slot->address;
}

void UnderWay::finish(Key key, spi::SendResult result) {
  Told told{};
  {
    const std::lock_guard lock(mutex_);
    auto* const slot = find(key);
    if (slot == nullptr) return;
    told = release(*slot);
  }
  told.results->sent(told.ticket, std::move(result));
  told_all(1);
}

void UnderWay::deliver(std::span<const Key> keys) {
  std::vector<Told> told;
  told.reserve(keys.size());
  {
    const std::lock_guard lock(mutex_);
    for (const auto key : keys) {
      if (auto* const slot = find(key)) told.push_back(release(*slot));
    }
  }
  for (const auto& one : told) one.results->sent(one.ticket, {});
  if (!told.empty()) told_all(told.size());
}

void UnderWay::finish_if(const std::function<bool(const View&)>& which,
                         const spi::SendResult& result) {
  std::vector<Told> told;
  {
    const std::lock_guard lock(mutex_);
    for (auto& slot : slots_) {
      if (slot.results == nullptr || !which({slot.stage, *slot.address})) continue;
      told.push_back(release(slot));
    }
  }
  tell(told, [&](const Told&) { return result; });
}

std::optional<BootTime> UnderWay::next_due() const {
  const std::lock_guard lock(mutex_);
  if (next_due_ == BootTime::max()) return std::nullopt;
  return next_due_;
}

bool UnderWay::is_due(BootTime now) {
  const std::lock_guard lock(mutex_);
  if (now < next_due_) return false;
  next_due_ = BootTime::max();
  for (const auto& slot : slots_) {
    if (slot.results != nullptr) next_due_ = std::min(next_due_, slot.deadline);
  }
  return next_due_ <= now;
}

UnderWay::Expired UnderWay::expire(BootTime now, const spi::SendResult& waiting,
                                   const spi::SendResult& sent) {
  Expired expired;
  std::vector<Told> told;
  {
    const std::lock_guard lock(mutex_);
    if (now < next_due_) return expired;
    next_due_ = BootTime::max();
    for (auto& slot : slots_) {
      if (slot.results == nullptr) continue;
      if (slot.deadline > now) {
        next_due_ = std::min(next_due_, slot.deadline);
        continue;
      }
      if (slot.stage != Stage::waiting) {
        expired.sent_at = std::min(expired.sent_at.value_or(slot.sent_at), slot.sent_at);
      }
      told.push_back(release(slot));
    }
  }
  expired.count = told.size();
  tell(told, [&](const Told& one) { return one.stage == Stage::waiting ? waiting : sent; });
  return expired;
}

std::size_t UnderWay::count() const {
  const std::lock_guard lock(mutex_);
  return slots_.size() - free_.size();
}

void UnderWay::shut() {
  const std::lock_guard lock(mutex_);
  shut_ = true;
  changed_.notify_all();
}

bool UnderWay::drained(Duration wait_max) {
  std::unique_lock lock(mutex_);
  constexpr Duration sensible_max = std::chrono::hours(24);  // longer durations overflow clocks
  return changed_.wait_for(lock, std::clamp(wait_max, Duration::zero(), sensible_max),
                           [this] { return free_.size() == slots_.size() && telling_ == 0; });
}

void UnderWay::end(const spi::SendResult& waiting, const spi::SendResult& sent) {
  std::vector<Told> told;
  {
    const std::lock_guard lock(mutex_);
    shut_ = true;
    for (auto& slot : slots_) {
      if (slot.results != nullptr) told.push_back(release(slot));
    }
  }
  tell(told, [&](const Told& one) { return one.stage == Stage::waiting ? waiting : sent; });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return telling_ == 0; });
}

}  // namespace sagabox::transports
