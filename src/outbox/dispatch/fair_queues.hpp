#pragma once

#include "outbox/dispatch/ring.hpp"
#include "outbox/entry.hpp"

#include <cstddef>
#include <cstdint>
#include <thread>

namespace sagabox::outbox {

/// The hot and the cold queue, served 2 : 1, so that neither starves the other. Thread-safe. `Room`
/// limits their content.
class FairQueues {
 public:
  FairQueues(std::size_t hot_capacity, std::size_t cold_capacity)
      : hot_(2 * hot_capacity), cold_(2 * cold_capacity) {}

  /// The caller must have taken room. The ring can still be full for a moment if a thread is
  /// interrupted while it removes an entry and other threads fill the rest of the ring.
  void push(Entry entry) {
    auto& ring = side(entry.source);
    while (!ring.push(entry)) std::this_thread::yield();
  }

  /// `turn` is state of the caller, which `pop` advances.
  bool pop(Entry& entry, std::uint32_t& turn) {
    const bool hot_first = turn < 2;
    turn = (turn + 1) % 3;
    return hot_first ? hot_.pop(entry) || cold_.pop(entry) : cold_.pop(entry) || hot_.pop(entry);
  }

  /// Entries taken since the start.
  [[nodiscard]] std::uint64_t taken() const { return hot_.popped() + cold_.popped(); }

  [[nodiscard]] bool seems_empty() const { return hot_.seems_empty() && cold_.seems_empty(); }

 private:
  Ring<Entry>& side(Source source) { return source == Source::hot ? hot_ : cold_; }

  Ring<Entry> hot_;
  Ring<Entry> cold_;
};

}  // namespace sagabox::outbox
