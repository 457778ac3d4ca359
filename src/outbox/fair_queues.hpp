#pragma once

#include "outbox/entry.hpp"
#include "outbox/ring.hpp"

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace sagabox::outbox {

/// The hot and the cold queue, taken from 2 : 1, so that neither starves the other. Thread-safe.
/// How much they may hold is the business of `Room`.
class FairQueues {
 public:
  FairQueues(std::size_t hot_capacity, std::size_t cold_capacity)
      : hot_(hot_capacity), cold_(cold_capacity) {}

  /// There must be room: everything queued has taken some.
  void push(Entry entry) {
    [[maybe_unused]] const bool pushed = side(entry.source).push(entry);
    assert(pushed);
  }

  /// `turn` belongs to the caller and goes round by itself.
  bool pop(Entry& entry, std::uint32_t& turn) {
    const bool hot_first = turn < 2;
    turn = (turn + 1) % 3;
    return hot_first ? hot_.pop(entry) || cold_.pop(entry) : cold_.pop(entry) || hot_.pop(entry);
  }

  [[nodiscard]] bool seems_empty() const { return hot_.seems_empty() && cold_.seems_empty(); }

 private:
  Ring<Entry>& side(Source source) { return source == Source::hot ? hot_ : cold_; }

  Ring<Entry> hot_;
  Ring<Entry> cold_;
};

}  // namespace sagabox::outbox
