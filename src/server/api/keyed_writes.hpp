#pragma once

#include "server/api/routes.hpp"

#include <sagabox/idempotency_http.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

namespace sagabox::server {

/// The `Idempotency-Key` of requests that write to one store. Answers are kept on a thread of its
/// own before they are given, all that are there at once, so that a writer of many requests does
/// not wait for them; a connection has one at most. Expired keys are removed by whoever runs an
/// `IdempotencyUpkeep` on the store, as a daemon does. Safe from any thread; store and log outlive
/// it.
class KeyedWrites {
 public:
  KeyedWrites(spi::IdempotencyStore& store, HttpIdempotencyOptions options, Logger& log);
  /// Keeps and gives the answers that are there.
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

  HttpIdempotency http_;
  Logger& log_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Answered> answered_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sagabox::server
