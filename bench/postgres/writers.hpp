#pragma once

#include "bench/postgres/world.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::bench::postgres {

/// Threads that write batches of messages by a store and an outbox of their own, as another process
/// would, until they are stopped.
class Writers {
 public:
  struct Load {
    int threads = 2;
    int batch = 100;
    std::chrono::milliseconds pause{0};  ///< after each batch
    /// They wait while so many more were written than `settled()` says.
    std::uint64_t ahead_max = 100'000;
    std::string outbox = OutboxOptions{}.table;
  };
  Writers(const Load& load, std::function<std::uint64_t()> settled);
  ~Writers() { end(); }
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;

  /// Returns how many were written; throws what failed.
  std::uint64_t stop();

 private:
  void run(std::uint64_t first);
  void end();

  const Load load_;
  const std::function<std::uint64_t()> settled_;
  std::unique_ptr<Store> store_;
  Outbox outbox_;
  std::atomic<bool> ending_{false};
  std::atomic<std::uint64_t> written_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace sagabox::bench::postgres
