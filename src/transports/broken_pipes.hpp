#pragma once

#include <pthread.h>

#include <csignal>
#include <ctime>

namespace sagabox::transports {

/// While this object exists, writing to a closed connection is an error on this thread instead of a
/// SIGPIPE: TLS libraries write without MSG_NOSIGNAL.
class BrokenPipes {
 public:
  BrokenPipes() {
    sigemptyset(&pipes_);
    sigaddset(&pipes_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipes_, &before_);
  }
  ~BrokenPipes() {
    const timespec at_once{};
    // A signal raised meanwhile would be delivered as soon as it is unblocked.
    if (!was_pending_) sigtimedwait(&pipes_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BrokenPipes(const BrokenPipes&) = delete;
  BrokenPipes& operator=(const BrokenPipes&) = delete;

 private:
  sigset_t pipes_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace sagabox::transports
