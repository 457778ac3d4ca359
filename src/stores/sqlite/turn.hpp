#pragma once

#include <sagabox/time.hpp>

#include <condition_variable>
#include <list>
#include <mutex>

namespace sagabox::sqlite {

/// SQLite has one writer: whose turn it is. First come, first served, so that nobody starves.
class Turn {
 public:
  /// False: it was somebody else's for all this time.
  [[nodiscard]] bool take(Duration wait_max);
  /// Without waiting.
  [[nodiscard]] bool try_take();
  void give_back();

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
