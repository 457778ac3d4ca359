#pragma once

#include <sagabox/time.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace sagabox::feed {

/// Decides when to read forward next: at once while there are more rows, or when woken; else at the
/// next poll; after an error, with a delay. `wake` and `woken` are safe from any thread, all other
/// functions are for the reading thread only.
class ReadSchedule {
 public:
  static constexpr Duration retry_min = std::chrono::milliseconds(10);
  static constexpr Duration retry_max = std::chrono::seconds(1);

  explicit ReadSchedule(Duration poll_interval) : poll_interval_(poll_interval) {}

  /// Something may have been committed.
  void wake() noexcept { woken_.store(true); }
  [[nodiscard]] bool woken() const noexcept { return woken_.load(); }

  /// The time to try again after an error.
  [[nodiscard]] BootTime retry_at() const noexcept { return retry_at_; }
  /// Whether a forward read is due. `eager()`: a shard is known to have something to read.
  template <class Eager>
  [[nodiscard]] bool due(BootTime now, Eager&& eager) const {
    return woken() || more_ || std::forward<Eager>(eager)() || now >= poll_at_;
  }
  /// A read begins. Called before the store, so that a later commit sets `woken` again.
  void begin() noexcept { woken_.store(false); }
  /// A read has ended; `more`: it returned rows, or did not cover all ranges.
  void end(BootTime now, bool more) {
    more_ = more;
    poll_at_ = now + poll_interval_;
  }
  /// A call of the store failed. The read is repeated.
  void failed(BootTime now) {
    retry_at_ = now + std::min(retry_max, retry_min * (1 << std::min(failures_, failures_counted)));
    ++failures_;
    wake();
  }
  void succeeded() noexcept { failures_ = 0; }

  /// The earliest time of the next forward read, unless woken.
  template <class Eager>
  [[nodiscard]] BootTime next(BootTime now, Eager&& eager) const {
    const bool at_once = woken() || more_ || std::forward<Eager>(eager)();
    return std::max(retry_at_, at_once ? now : poll_at_);
  }

 private:
  static constexpr std::uint32_t failures_counted = 7;

  Duration poll_interval_;
  std::atomic<bool> woken_{true};
  bool more_ = true;
  BootTime poll_at_{};
  BootTime retry_at_{};
  std::uint32_t failures_ = 0;
};

}  // namespace sagabox::feed
