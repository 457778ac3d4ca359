#include "transports/timed_parcels.hpp"

#include "transports/room_wait.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::transports {

using Kind = spi::SendResult::Kind;

TimedParcels::TimedParcels(Options options)
    : options_(std::move(options)), watcher_([this] { watch(); }) {}

TimedParcels::~TimedParcels() {
  close(options_.clock.boot_now());
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  watcher_.join();
}

std::vector<TimedParcels::ItemPtr> TimedParcels::take(std::span<spi::Parcel> parcels,
                                                      spi::SendResults& results) {
  std::vector<ItemPtr> taken;
  taken.reserve(parcels.size());
  std::vector<std::pair<spi::Ticket, spi::SendResult>> refused;
  {
    const auto now = options_.clock.boot_now();
    const std::lock_guard lock(mutex_);
    const auto first_before = items_.empty() ? BootTime::max() : items_.begin()->first;
    for (auto& parcel : parcels) {
      const auto refuse = [&](Kind kind, std::string error, std::optional<Duration> wait = {}) {
        refused.emplace_back(parcel.ticket, spi::SendResult{kind, std::move(error), wait});
      };
      if (closed_) {
        refuse(Kind::unreachable, "the transport is closed");
      } else if (parcel.deadline <= now) {
        refuse(Kind::later, options_.timed_out_error + ": it had passed already");
      } else if (items_.size() >= options_.items_max) {
        refuse(Kind::later,
               std::to_string(items_.size()) +
                   " are under way already, as many as in_flight_max allows",
               room_wait);
      } else {
        const auto deadline = parcel.deadline;
        auto item = std::make_shared<Item>(std::move(parcel), results);
        // Usually it has the latest deadline so far.
        item->place_ = items_.emplace_hint(items_.end(), deadline, item);
        taken.push_back(std::move(item));
      }
    }
    if (!items_.empty() && items_.begin()->first < first_before) changed_.notify_all();
  }
  for (auto& [ticket, result] : refused) results.sent(ticket, std::move(result));
  return taken;
}

bool TimedParcels::begin(Item& item) {
  const std::lock_guard lock(mutex_);
  if (item.answered_) return false;
  item.begun_ = true;
  return true;
}

bool TimedParcels::answer(Item& item, spi::SendResult result) {
  {
    const std::lock_guard lock(mutex_);
    if (item.answered_.exchange(true)) return false;
    items_.erase(std::exchange(item.place_, {}));
    ++telling_;
  }
  item.results_.sent(item.parcel_.ticket, std::move(result));
  const std::lock_guard lock(mutex_);
  --telling_;
  if (closed_) changed_.notify_all();
  return true;
}

void TimedParcels::give_up(std::unique_lock<std::mutex>& lock, BootTime until,
                           const spi::SendResult& waiting, const spi::SendResult& begun) {
  std::vector<ItemPtr> late;
  const auto end = items_.upper_bound(until);
  for (auto it = items_.begin(); it != end; ++it) {
    it->second->answered_ = true;
    late.push_back(std::move(it->second));
  }
  items_.erase(items_.begin(), end);
  telling_ += late.size();
  lock.unlock();
  for (const auto& item : late) {
    if (options_.expired) options_.expired(item);
    // An item that has its result cannot begin any more.
    item->results_.sent(item->parcel_.ticket, item->begun_ ? begun : waiting);
  }
  lock.lock();
  telling_ -= late.size();
  if (closed_) changed_.notify_all();
}

void TimedParcels::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (items_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto now = options_.clock.boot_now();
    const auto first = items_.begin()->first;
    if (first <= now) {
      give_up(lock, now, {Kind::later, options_.timed_out_error + ": it had not come to it", {}},
              {Kind::timed_out, options_.timed_out_error, {}});
    } else {
      changed_.wait_for(lock, first - now);
    }
  }
}

void TimedParcels::close(BootTime deadline) {
  std::unique_lock lock(mutex_);
  closed_ = true;
  while (!items_.empty()) {
    const auto now = options_.clock.boot_now();
    if (now >= deadline) {
      const auto error = options_.timed_out_error + " of closing the transport";
      give_up(lock, BootTime::max(), {Kind::unreachable, error, {}}, {Kind::timed_out, error, {}});
    } else {
      changed_.wait_for(lock, deadline - now);
    }
  }
  changed_.wait(lock, [&] { return telling_ == 0; });
}

}  // namespace sagabox::transports
