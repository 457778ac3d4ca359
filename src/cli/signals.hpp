#pragma once

#include <sagabox/time.hpp>

#include <csignal>

namespace sagabox::cli {

/// Ctrl-C and SIGTERM as something to wait for. Made before any thread starts, so that all of them
/// leave the signals to `wait`.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// True when asked to stop, false after `timeout`.
  bool wait(Duration timeout);
  /// From now on a signal ends the process at once. Called on the thread that made this.
  void let_through();
  /// Ends the process as the signal would have done.
  [[noreturn]] void quit();

 private:
  sigset_t signals_{};
};

}  // namespace sagabox::cli
