#pragma once

#include <sagabox/spi/transport.hpp>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace sagabox::testing {

/// Collects every result, by ticket. Thread-safe.
class CollectedResults final : public spi::SendResults {
 public:
  using Kind = spi::SendResult::Kind;
  /// Longer than any deadline of a test, for an overloaded machine.
  static constexpr Duration patience = std::chrono::seconds(120);

  void sent(spi::Ticket ticket, spi::SendResult result) noexcept override {
    if (then) then(result);
    const std::lock_guard lock(mutex_);
    all_[ticket.value].push_back(std::move(result));
    ++count_;
    changed_.notify_all();
  }

  /// Waits until there are `count` in total; returns whether that is so.
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return count_ >= count; });
  }
  /// The results of a ticket; empty: none yet.
  std::vector<spi::SendResult> of(std::uint64_t ticket) {
    const std::lock_guard lock(mutex_);
    return all_[ticket];
  }
  /// Waits for the only result of a ticket.
  spi::SendResult only(std::uint64_t ticket) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] { return !all_[ticket].empty(); });
    return all_[ticket].size() == 1 ? all_[ticket].front()
                                    : spi::SendResult{Kind::failed, "none, or several", {}};
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

  /// Called with each result, before it is stored.
  std::function<void(const spi::SendResult&)> then{};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, std::vector<spi::SendResult>> all_;
  std::size_t count_ = 0;
};

}  // namespace sagabox::testing
