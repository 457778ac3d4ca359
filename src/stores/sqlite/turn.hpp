#pragma once

#include <sagabox/time.hpp>

#include <condition_variable>
#include <list>
#include <mutex>

namespace sagabox::sqlite {

/// The turn to write, as SQLite has one writer. First come, first served, so that no caller
/// starves.
class Turn {
 public:
  /// Returns false if others held it for all this time.
  [[nodiscard]] bool take(Duration wait_max);
  /// Does not wait.
  [[nodiscard]] bool try_take();
  void release();

 private:
  struct Waiter {
    std::condition_variable called{};
    bool granted = false;
  };

  std::mutex mutex_;
  bool taken_ = false;
  std::list<Waiter> queue_;
};

}  // namespace sagabox::sqlite
