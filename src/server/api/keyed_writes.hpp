#pragma once

#include "server/api/routes.hpp"

#include <sagabox/idempotency_http.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

namespace sagabox::server {

/// The `Idempotency-Key` of requests that write to one store. Answers are stored on a thread of
/// their own before they are sent, all waiting ones at once, so that a writer of many requests does
/// not wait for them; a connection has one at most. The same thread removes expired keys.
/// Thread-safe; store, log and clock must outlive it.
class KeyedWrites {
 public:
  KeyedWrites(spi::IdempotencyStore& store, HttpIdempotencyOptions options, Logger& log,
              const Clock& clock);
  /// Stores and sends the waiting answers.
  ~KeyedWrites();
  KeyedWrites(const KeyedWrites&) = delete;
  KeyedWrites& operator=(const KeyedWrites&) = delete;

  /// Returns permission to run the request, or its stored answer. Blocks for one call of the store.
  std::variant<HttpIdempotency::Pass, Response> begin(const Request& request, const Caller& caller);
  /// The reply of a running request: stores the answer, then sends it.
  Reply keeping(HttpIdempotency::Pass pass, Reply reply);

 private:
  struct Answered {
    HttpIdempotency::Pass pass;
    Response response;
    Reply reply;
  };
  void run();
  void give(std::vector<Answered> answered);
  void keep(const std::vector<Answered>& answered);
  void not_kept(const Error& error);
  /// Returns false if there is more to remove.
  bool purge();

  spi::IdempotencyStore& store_;
  HttpIdempotency http_;
  Logger& log_;
  const Clock& clock_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Answered> answered_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sagabox::server
