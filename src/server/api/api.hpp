#pragma once

#include "server/api/hub_watch.hpp"
#include "server/api/keyed_writes.hpp"
#include "server/api/readiness.hpp"
#include "server/api/routes.hpp"
#include "server/api/serving.hpp"
#include "server/http/request_handler.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sagabox::server {

/// Answers requests, without a socket. Thread-safe.
class Api final : public RequestHandler {
 public:
  /// Without `keys` every caller may do everything, so it must be reachable from this machine only:
  /// requests that a web page could have sent are refused.
  Api(ApiOptions options, std::unique_ptr<KeyRing> keys);
  /// Finishes writes in progress; their replies are sent before this returns.
  ~Api() override;

  /// Blocks while the store is busy.
  Response handle(const Request& request);
  /// Checks the caller's rights, and whether the path exists.
  Admission admit(const Request& header) override;
  /// Replies now, or later for writes. Repeats the checks of `admit`: a key may be revoked
  /// meanwhile.
  void begin(const Request& request, const Reply& reply) override;

 private:
  /// The caller, or why it is refused.
  std::variant<Caller, Response> caller_of(const Request& request, Needs needs);
  std::optional<Response> refused_to_pages(const Request& request) const;
  /// For a request with the token of a saga's call.
  [[nodiscard]] std::optional<Response> refused_token(const Request& request) const;
  /// The error for a path that does not exist, or a request in a wrong format.
  std::optional<Response> refused_by_route(const Request& request, const RouteMatch& match) const;
  [[nodiscard]] const ServedTable* find_table(const RouteMatch& match) const;
  Response unforeseen(const RouteMatch& match, const std::exception& thrown) const;
  /// Runs it once for an `Idempotency-Key`, if the request has one.
  void call_once(const Request& request, const RouteMatch& match, const Caller& caller,
                 const Reply& reply);
  void call(const Request& request, const RouteMatch& match, const Caller& caller,
            const HttpIdempotency::Pass& pass, const Reply& reply);
  /// Lets the store keep answers to requests with an `Idempotency-Key`, if it can.
  void keep_keys_of(Store& store);
  /// Null if keys are not supported there.
  [[nodiscard]] KeyedWrites* keyed_writes_of(const RouteMatch& match) const;
  /// True if it needs an `Idempotency-Key` and has none.
  [[nodiscard]] bool lacks_key(const Request& request, const RouteMatch& match) const;

  ApiOptions options_;
  std::unique_ptr<KeyRing> keys_;
  Readiness readiness_;
  HubWatch hub_watch_;
  std::atomic<std::uint32_t> saga_waits_{0};
  std::atomic<std::uint32_t> reply_waits_{0};
  ReplyGate replies_;
  // Declared before the writers, so that it outlives their last replies.
  std::map<const Store*, std::unique_ptr<KeyedWrites>> keyed_writes_;
  std::vector<std::unique_ptr<GroupWriter>> writers_;  // one for each table
};

}  // namespace sagabox::server
