#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace sagabox::bench::by_hand {

/// Another process that writes messages one by one, in transactions that stay open for a while, and
/// says when each COMMIT had returned. Make it before this process has threads.
class Elsewhere {
 public:
  struct Load {
    std::string url;
    std::uint32_t messages = 100;
    std::chrono::milliseconds open{20};   ///< from the message to its COMMIT
    std::chrono::milliseconds pause{60};  ///< between transactions
    bool by_function = false;             ///< else by INSERT
  };
  explicit Elsewhere(const Load& load);
  ~Elsewhere();
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

  void go();
  /// Waits for its end; throws when it failed.
  void join();
  /// By the steady clock, which all processes share; 0 while it has not committed.
  [[nodiscard]] std::int64_t committed_at(std::uint32_t number) const;

 private:
  void write(const Load& load, int started) const;

  std::uint32_t messages_;
  std::int64_t* committed_;  // shared with the other process
  pid_t process_ = -1;
  int start_ = -1;
};

}  // namespace sagabox::bench::by_hand
