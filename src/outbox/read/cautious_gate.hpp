#pragma once

#include "outbox/entry.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace sagabox::outbox {

/// Lets messages go a few at a time after an unclean take-over: one of them may have killed the
/// process before. Each has its attempt written first, so that a killer runs out of attempts. One
/// that has spent attempts already goes alone: otherwise those beside a killer would die with it.
/// Pure; the relay locks it.
class CautiousGate {
 public:
  static constexpr std::uint32_t together_max = 4;

  void offer(Entry entry) { waiting_.push_back(std::move(entry)); }

  /// The next that may go now; its attempt is to be written.
  std::optional<Entry> next();
  /// Keeps it until its attempt has been written.
  void writing(Entry entry) { writing_.push_back(std::move(entry)); }
  /// The attempt has been written: dispatch it.
  std::optional<Entry> written(Shard shard, Sequence sequence, std::uint32_t tenure);
  /// One that was let go has ended, or is void.
  void finished();

  /// Everything of this shard; those being written count as finished.
  std::vector<Entry> drop(Shard shard);

  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  [[nodiscard]] std::uint32_t in_flight() const noexcept { return in_flight_; }

 private:
  std::deque<Entry> waiting_;
  std::vector<Entry> writing_;
  std::uint32_t in_flight_ = 0;
  bool alone_ = false;
};

}  // namespace sagabox::outbox
