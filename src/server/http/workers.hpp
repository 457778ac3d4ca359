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

/// A request that was read, on its way to its answer.
struct Task {
  Request request;
  Reply reply;
  BodyBudget::Hold body{};  ///< until the handler is through with the request
};

/// Threads for requests that wait for a store. Safe from any thread.
class Workers {
 public:
  struct Options {
    std::uint32_t threads = 1;
    std::uint32_t waiting_max = 0;  ///< for a thread; more are told to come back
  };
  /// The handler outlives it.
  Workers(RequestHandler& handler, const Options& options);
  /// Waits for what runs, however long it does.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void take(Task task);
  /// What nobody has begun is left unanswered from now on.
  void stop();
  /// None is with the handler.
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
