#pragma once

#include <sagabox/time.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace sagabox {

/// Wakes threads that wait for commits. Every notify is counted, and the count at the last return
/// is kept for every thread, so a notify between two waits of a thread is not lost. The first wait
/// of a thread returns at once if `notify` was ever called.
class CommitSignal {
 public:
  void notify();
  /// Returns false if the timeout passed without a notify.
  bool wait(Duration timeout);

 private:
  static constexpr std::size_t threads_max = 256;

  std::mutex mutex_;
  std::condition_variable notified_;
  std::uint64_t notifications_ = 0;
  std::unordered_map<std::thread::id, std::uint64_t> seen_;
};

}  // namespace sagabox
