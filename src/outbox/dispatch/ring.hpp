#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sagabox::outbox {

/// A bounded queue for several producers and consumers without a lock (after D. Vyukov).
template <class T>
class Ring {
 public:
  explicit Ring(std::size_t capacity) : cells_(std::bit_ceil(capacity < 2 ? 2 : capacity)) {
    for (std::size_t at = 0; at < cells_.size(); ++at) cells_[at].turn.store(at);
  }

  /// Returns false if the queue is full; `value` is moved from only on success.
  bool push(T& value) {
    auto at = tail_.load(std::memory_order_relaxed);
    for (;;) {
      auto& cell = cells_[at & mask()];
      const auto turn = cell.turn.load(std::memory_order_acquire);
      if (turn == at) {
        if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
          cell.value = std::move(value);
          cell.turn.store(at + 1, std::memory_order_release);
          return true;
        }
      } else if (turn < at) {
        return false;
      } else {
        at = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  /// Returns false if the queue is empty.
  bool pop(T& value) {
    auto at = head_.load(std::memory_order_relaxed);
    for (;;) {
      auto& cell = cells_[at & mask()];
      const auto turn = cell.turn.load(std::memory_order_acquire);
      if (turn == at + 1) {
        if (head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
          value = std::move(cell.value);
          cell.turn.store(at + cells_.size(), std::memory_order_release);
          return true;
        }
      } else if (turn < at + 1) {
        return false;
      } else {
        at = head_.load(std::memory_order_relaxed);
      }
    }
  }

  /// The number of values removed since the start.
  [[nodiscard]] std::size_t popped() const { return head_.load(std::memory_order_relaxed); }

  /// Exact only while no thread pushes or pops.
  [[nodiscard]] bool seems_empty() const {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire);
  }

 private:
  struct Cell {
    std::atomic<std::size_t> turn{0};
    T value{};
  };
  [[nodiscard]] std::size_t mask() const { return cells_.size() - 1; }

  std::vector<Cell> cells_;
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::atomic<std::size_t> head_{0};
};

}  // namespace sagabox::outbox
