#pragma once

#include "server/http/body_budget.hpp"
#include "server/http/request_handler.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace sagabox::server {

/// A request that was read and is not answered yet.
struct Task {
  Request request;
  Reply reply;
  BodyBudget::Hold body{};  ///< held until the handler is done with the request
};

/// Threads for requests that wait for a store. Thread-safe.
class Workers {
 public:
  struct Options {
    std::uint32_t threads = 1;
    std::uint32_t waiting_max = 0;  ///< waiting for a thread; more are refused with a retry hint
  };
  /// The handler must outlive it.
  Workers(RequestHandler& handler, const Options& options);
  /// Waits for running requests without a limit.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void take(Task task);
  /// Requests that were not started are not answered from now on.
  void stop();
  /// True if the handler processes none.
  [[nodiscard]] bool idle() const;

 private:
  void run();

  RequestHandler& handler_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> waiting_;
  std::uint32_t running_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sagabox::server
