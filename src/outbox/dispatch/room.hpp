#pragma once

#include "outbox/entry.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sagabox::outbox {

/// Limits the content of the queues by count and bytes. Room is taken when a message is accepted,
/// and given back when its handler starts or it is dropped. Thread-safe.
class Room {
 public:
  struct Limits {
    std::uint32_t hot_capacity = 1000;
    std::uint32_t cold_capacity = 1000;
    std::size_t bytes_max = 64UL * 1024 * 1024;  ///< half for each queue
  };
  explicit Room(const Limits& limits)
      : sides_{Side{limits.hot_capacity, limits.bytes_max / 2},
               Side{limits.cold_capacity, limits.bytes_max / 2}} {}

  /// An empty queue accepts one message of any size.
  bool take(Source source, std::size_t bytes) {
    auto& side = at(source);
    const auto count = side.count.fetch_add(1);
    const auto held = side.bytes.fetch_add(bytes);
    if (count < side.capacity && (count == 0 || held + bytes <= side.bytes_max)) return true;
    release(source, bytes);
    return false;
  }

  /// Whether `take` would succeed at this moment.
  [[nodiscard]] bool fits(Source source, std::size_t bytes) const {
    const auto& side = at(source);
    const auto count = side.count.load();
    return count < side.capacity && (count == 0 || side.bytes.load() + bytes <= side.bytes_max);
  }

  void release(Source source, std::size_t bytes) {
    at(source).count.fetch_sub(1);
    at(source).bytes.fetch_sub(bytes);
  }
  void release(const Entry& entry) { release(entry.source, entry.message->bytes()); }

  [[nodiscard]] std::uint32_t count(Source source) const { return at(source).count.load(); }
  [[nodiscard]] std::uint32_t capacity(Source source) const { return at(source).capacity; }
  /// Entries above a smaller capacity stay.
  void resize(Source source, std::uint32_t capacity) { at(source).capacity = capacity; }
  [[nodiscard]] std::size_t bytes() const {
    return sides_[0].bytes.load() + sides_[1].bytes.load();
  }

  /// 0 if either limit is reached.
  [[nodiscard]] std::uint32_t free(Source source) const {
    const auto& side = at(source);
    const auto used = side.count.load();
    const auto capacity = side.capacity.load();
    return used >= capacity || free_bytes(source) == 0 ? 0 : capacity - used;
  }
  /// Whether at least half of the capacity is free: many small reads cost more than one later read.
  [[nodiscard]] bool worth_reading(Source source) const {
    return free(source) >= std::max<std::uint32_t>(1, capacity(source) / 2);
  }
  [[nodiscard]] std::size_t free_bytes(Source source) const {
    const auto& side = at(source);
    const auto used = side.bytes.load();
    return used >= side.bytes_max ? 0 : side.bytes_max - used;
  }

 private:
  struct Side {
    Side(std::uint32_t capacity_limit, std::size_t bytes_limit)
        : capacity(capacity_limit), bytes_max(bytes_limit) {}
    std::atomic<std::uint32_t> capacity;
    std::size_t bytes_max;
    alignas(64) std::atomic<std::uint32_t> count{0};
    std::atomic<std::size_t> bytes{0};
  };
  Side& at(Source source) { return sides_[static_cast<std::size_t>(source)]; }
  [[nodiscard]] const Side& at(Source source) const {
    return sides_[static_cast<std::size_t>(source)];
  }

  std::array<Side, 2> sides_;
};

}  // namespace sagabox::outbox
