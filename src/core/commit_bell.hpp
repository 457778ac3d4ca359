#pragma once

#include <sagabox/time.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace sagabox {

/// Wakes threads that wait for commits. Every ring is counted, and the count at the last return is
/// kept for every thread, so a ring between two waits of a thread is not lost. The first wait of a
/// thread returns at once if `ring` was ever called.
class CommitBell {
 public:
  void ring();
  /// Returns false if the timeout passed without a ring.
  bool wait(Duration timeout);

 private:
  static constexpr std::size_t threads_max = 256;

  std::mutex mutex_;
  std::condition_variable rung_;
  std::uint64_t rings_ = 0;
  std::unordered_map<std::thread::id, std::uint64_t> heard_;
};

}  // namespace sagabox
