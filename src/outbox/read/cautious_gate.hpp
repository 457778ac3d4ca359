#pragma once

#include "outbox/entry.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace sagabox::outbox {

/// After an unclean take-over, dispatches only a few messages at a time, because one of them may
/// have crashed the previous process. Each attempt is stored first, so that a message that crashes
/// the process runs out of attempts. A message with attempts is dispatched alone: otherwise
/// messages next to the crashing one would lose attempts too. Pure; the relay locks it.
class CautiousGate {
 public:
  static constexpr std::uint32_t together_max = 4;

  void offer(Entry entry) { waiting_.push_back(std::move(entry)); }

  /// The next message that may be dispatched; its attempt must be stored first.
  std::optional<Entry> next();
  /// Keeps the message until its attempt is stored.
  void writing(Entry entry) { writing_.push_back(std::move(entry)); }
  /// The attempt is stored: returns the message to dispatch.
  std::optional<Entry> written(Shard shard, Sequence sequence, std::uint32_t tenure);
  /// A message that `next` returned has ended, or is void.
  void finished();

  /// Removes all messages of this shard; those whose attempt is being stored count as finished.
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
