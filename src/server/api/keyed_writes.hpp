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
/// not wait for them; a connection has one at most. The same thread removes expired keys. Safe from
/// any thread; store, log and clock outlive it.
class KeyedWrites {
 public:
  KeyedWrites(spi::IdempotencyStore& store, HttpIdempotencyOptions options, Logger& log,
              const Clock& clock);
  /// Keeps and gives the answers that are there.
  ~KeyedWrites();
  KeyedWrites(const KeyedWrites&) = delete;
  KeyedWrites& operator=(const KeyedWrites&) = delete;

  /// Leave to run the request, or its answer. Blocks for one call of the store.
  std::variant<HttpIdempotency::Pass, Response> begin(const Request& request, const Caller& caller);
  /// What replies to a request that runs: keeps the answer, then gives it.
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
  /// False: there is more to remove.
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
