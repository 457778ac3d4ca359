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

/// Requests to responses, without a socket. Safe from any thread.
class Api final : public RequestHandler {
 public:
  /// Without `keys` everybody may do everything, so it must be reachable from this machine only:
  /// requests that a web page could have sent here are refused.
  Api(ApiOptions options, std::unique_ptr<KeyRing> keys);
  /// Ends writes that were begun; their replies come before this returns.
  ~Api() override;

  /// Blocks while the store works.
  Response handle(const Request& request);
  /// Whether the caller may, and what he asks for is there.
  Admission admit(const Request& header) override;
  /// Replies now or, of writes, later. Asks again what `admit` did: a key may be revoked meanwhile.
  void begin(const Request& request, const Reply& reply) override;

 private:
  /// Or why it is refused.
  std::variant<Caller, Response> caller_of(const Request& request, Needs needs);
  std::optional<Response> refused_to_pages(const Request& request) const;
  /// Of a request that comes with the token of a saga's call.
  [[nodiscard]] std::optional<Response> refused_token(const Request& request) const;
  /// What is not there, or not in the form it must have.
  std::optional<Response> refused_by_route(const Request& request, const RouteMatch& match) const;
  [[nodiscard]] const ServedTable* find_table(const RouteMatch& match) const;
  Response unforeseen(const RouteMatch& match, const std::exception& thrown) const;
  /// Once for an `Idempotency-Key`, if the request has one.
  void call_once(const Request& request, const RouteMatch& match, const Caller& caller,
                 const Reply& reply);
  void call(const Request& request, const RouteMatch& match, const Caller& caller,
            const HttpIdempotency::Pass& pass, const Reply& reply);
  /// Answers to requests with an `Idempotency-Key` are kept there, if it can.
  void keep_keys_of(Store& store);
  /// Null: keys are not taken there.
  [[nodiscard]] KeyedWrites* keyed_writes_of(const RouteMatch& match) const;
  /// It must have an `Idempotency-Key` and has none.
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
  std::vector<std::unique_ptr<GroupWriter>> writers_;  // a table each
};

}  // namespace sagabox::server
