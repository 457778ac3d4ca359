#pragma once

#include <sagabox/time.hpp>

#include <csignal>
#include <cstdint>

namespace sagabox::cli {

/// Ctrl-C and SIGTERM as something to wait for. Made before any thread starts, so that all of them
/// leave the signals to `wait`.
class StopSignals {
 public:
  enum class Hangup : std::uint8_t { ends, wakes };
  /// What SIGHUP does.
  explicit StopSignals(Hangup hangup = Hangup::ends);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  enum class Woken : std::uint8_t { timeout, stop, readable, hangup };
  /// Until asked to stop, or `descriptor` (-1: none) is readable or at its end, or after `timeout`,
  /// which may also come early.
  Woken wait(Duration timeout, int descriptor = -1);
  /// From now on a signal ends the process at once. Called on the thread that made this.
  void let_through();
  /// Ends the process as the signal would have done.
  [[noreturn]] void quit();

 private:
  sigset_t signals_{};
  int descriptor_;  // readable when one has come
};

}  // namespace sagabox::cli
