#include "cli/signals.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>

namespace sagabox::cli {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

bool StopSignals::wait(Duration timeout) {
  const auto bounded = std::max(timeout, Duration{});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(bounded);
  const timespec limit{.tv_sec = static_cast<std::time_t>(seconds.count()),
                       .tv_nsec = static_cast<long>((bounded - seconds).count())};
  return sigtimedwait(&signals_, nullptr, &limit) > 0;
}

void StopSignals::let_through() { pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr); }

void StopSignals::quit() {
  let_through();
  (void)std::raise(SIGINT);
  std::_Exit(128 + SIGINT);
}

}  // namespace sagabox::cli
