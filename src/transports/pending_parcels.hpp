#pragma once

#include <sagabox/spi/transport.hpp>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <deque>
#include <utility>

namespace sagabox::transports {

/// A parcel, and the receiver of its result.
struct Handed {
  spi::Parcel parcel;
  spi::SendResults* results = nullptr;
};

/// Parcels that wait for their result, numbered 1, 2, 3 … in the order in which they were added.
/// Exactly one result is reported for each. For one thread.
class PendingParcels {
 public:
  /// `under_way` is decremented before each result is reported, so that its receiver can send
  /// another parcel.
  explicit PendingParcels(std::atomic<std::uint32_t>& under_way) : under_way_(under_way) {}

  [[nodiscard]] std::size_t size() const noexcept { return open_; }
  [[nodiscard]] bool empty() const noexcept { return open_ == 0; }
  /// The number that the next one gets.
  [[nodiscard]] std::uint64_t next_number() const noexcept { return first_ + all_.size(); }

  std::uint64_t add(Handed handed) {
    earliest_ = std::min(earliest_, handed.parcel.deadline);
    all_.push_back(std::move(handed));
    ++open_;
    return first_ + all_.size() - 1;
  }

  /// Restarts the numbers at 1. Call it only when empty.
  void restart() {
    assert(open_ == 0);
    all_.clear();
    first_ = 1;
  }

  /// Returns false if there is none, or it has its result already.
  bool finish(std::uint64_t number, spi::SendResult result) {
    if (number < first_ || number - first_ >= all_.size()) return false;
    if (!end(all_[number - first_], std::move(result))) return false;
    drop_ended();
    return true;
  }

  void finish_all(const spi::SendResult& result) {
    for (auto& handed : all_) end(handed, result);
    drop_ended();
  }

  /// Ends the parcels whose deadline has passed; returns their number.
  std::size_t expire(BootTime now, const spi::SendResult& result) {
    if (now < earliest_) return 0;
    std::size_t ended = 0;
    earliest_ = BootTime::max();
    for (auto& handed : all_) {
      if (handed.results == nullptr) continue;
      if (handed.parcel.deadline <= now) {
        ended += end(handed, result) ? 1 : 0;
      } else {
        earliest_ = std::min(earliest_, handed.parcel.deadline);
      }
    }
    drop_ended();
    return ended;
  }

  /// Not later than the earliest deadline; may be earlier, that of a parcel that has ended.
  [[nodiscard]] BootTime expires_next() const noexcept {
    return open_ == 0 ? BootTime::max() : earliest_;
  }

  /// Removes the oldest parcel without reporting a result. There must be one.
  Handed take_oldest() {
    drop_ended();
    auto oldest = std::move(all_.front());
    all_.pop_front();
    ++first_;
    --open_;
    drop_ended();
    return oldest;
  }

 private:
  bool end(Handed& handed, spi::SendResult result) {
    if (handed.results == nullptr) return false;
    auto* const results = std::exchange(handed.results, nullptr);
    const auto ticket = handed.parcel.ticket;
    handed.parcel = {};
    --open_;
    under_way_.fetch_sub(1, std::memory_order_relaxed);
    results->sent(ticket, std::move(result));
    return true;
  }

  void drop_ended() {
    while (!all_.empty() && all_.front().results == nullptr) {
      all_.pop_front();
      ++first_;
    }
    if (all_.empty()) earliest_ = BootTime::max();
  }

  std::atomic<std::uint32_t>& under_way_;
  std::deque<Handed> all_;  ///< ended, if `results` is null
  std::uint64_t first_ = 1;
  std::size_t open_ = 0;
  BootTime earliest_ = BootTime::max();
};

}  // namespace sagabox::transports
