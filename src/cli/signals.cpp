#include "cli/signals.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <system_error>

namespace sagabox::cli {

StopSignals::StopSignals(Hangup hangup) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  if (hangup == Hangup::wakes) sigaddset(&signals_, SIGHUP);
  descriptor_ = signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

StopSignals::~StopSignals() { (void)::close(descriptor_); }

StopSignals::Woken StopSignals::wait(Duration timeout, int descriptor) {
  const auto bounded = std::max(timeout, Duration{});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(bounded);
  const timespec limit{.tv_sec = static_cast<std::time_t>(seconds.count()),
                       .tv_nsec = static_cast<long>((bounded - seconds).count())};
  std::array<pollfd, 2> watched{pollfd{.fd = descriptor_, .events = POLLIN, .revents = 0},
                                pollfd{.fd = descriptor, .events = POLLIN, .revents = 0}};
  if (ppoll(watched.data(), watched.size(), &limit, nullptr) <= 0) return Woken::timeout;
  signalfd_siginfo signal{};
  if (::read(descriptor_, &signal, sizeof signal) > 0) {
    return signal.ssi_signo == SIGHUP ? Woken::hangup : Woken::stop;
  }
  return watched[1].revents != 0 ? Woken::readable : Woken::timeout;
}

void StopSignals::unblock() { pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr); }

void StopSignals::quit() {
  unblock();
  (void)std::raise(SIGINT);
  std::_Exit(128 + SIGINT);
}

}  // namespace sagabox::cli
