#pragma once

#include <mutex>
#include <thread>

namespace sagabox::outbox {

/// A mutex for work of well under a microsecond: whoever finds it taken looks again for about as
/// long before sleeping, because sleeping and being woken costs many times that.
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
