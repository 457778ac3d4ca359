#pragma once

#include <sagabox/time.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace sagabox {

/// Wakes those who wait for commits. Every ring is counted and every thread remembers the count
/// at which it last returned, so a ring between two waits of a thread is not lost. A thread that
/// waits for the first time returns at once if the bell was ever rung.
class CommitBell {
 public:
  void ring();
  /// False: nobody rang for all this time.
  bool wait(Duration timeout);

 private:
  static constexpr std::size_t threads_max = 256;

  std::mutex mutex_;
  std::condition_variable rung_;
  std::uint64_t rings_ = 0;
  std::unordered_map<std::thread::id, std::uint64_t> heard_;
};

}  // namespace sagabox
