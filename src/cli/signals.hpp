#pragma once

#include <sagabox/time.hpp>

#include <csignal>
#include <cstdint>

namespace sagabox::cli {

/// Ctrl-C and SIGTERM as events to wait for. Construct it before any thread starts, so that all
/// threads leave the signals to `wait`.
class StopSignals {
 public:
  enum class Hangup : std::uint8_t { ends, wakes };
  /// The effect of SIGHUP.
  explicit StopSignals(Hangup hangup = Hangup::ends);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  enum class Woken : std::uint8_t { timeout, stop, readable, hangup };
  /// Waits until asked to stop, until `descriptor` (-1: none) is readable or at its end, or for
  /// `timeout`; it may also return early.
  Woken wait(Duration timeout, int descriptor = -1);
  /// From now on a signal ends the process at once. Call it on the thread that made this.
  void unblock();
  /// Ends the process in the same way as the signal.
  [[noreturn]] void quit();

 private:
  sigset_t signals_{};
  int descriptor_;  // readable when a signal has arrived
};

}  // namespace sagabox::cli
