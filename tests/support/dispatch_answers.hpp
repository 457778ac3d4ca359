#pragma once

#include <sagabox/spi/sink.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace sagabox::testing {

/// Collects the answers of a sink, by ticket. Thread-safe.
class DispatchAnswers final : public spi::DispatchResults {
 public:
  void dispatched(spi::Ticket ticket, spi::Dispatched result) noexcept override {
    const std::scoped_lock lock(mutex_);
    all_[ticket.value].push_back(std::move(result));
    changed_.notify_all();
  }
  void opened() noexcept override {
    const std::scoped_lock lock(mutex_);
    ++opened_;
    changed_.notify_all();
  }

  /// Waits for the answer; a second answer to the same ticket is a failure.
  spi::Dispatched of(std::uint64_t ticket) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, patience, [&] { return !all_[ticket].empty(); }));
    EXPECT_EQ(all_[ticket].size(), 1U);
    return all_[ticket].empty() ? spi::Dispatched{} : all_[ticket].front();
  }
  bool wait_opened(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return opened_ >= count; });
  }
  int opened_so_far() {
    const std::scoped_lock lock(mutex_);
    return opened_;
  }

 private:
  static constexpr auto patience = std::chrono::seconds(90);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, std::vector<spi::Dispatched>> all_;
  int opened_ = 0;
};

}  // namespace sagabox::testing
