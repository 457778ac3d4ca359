#pragma once

#include <mutex>
#include <thread>

namespace sagabox::outbox {

/// A mutex for critical sections of well under a microsecond: `lock` spins for about that time
/// before it sleeps, because a sleep and wake-up costs many times more.
class BriefMutex {
 public:
  void lock() {
    for (int look = 0; look < looks_max; ++look) {
      if (mutex_.try_lock()) return;
      pause();
    }
    mutex_.lock();
  }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int looks_max = 50;

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }

  std::mutex mutex_;
};

}  // namespace sagabox::outbox
