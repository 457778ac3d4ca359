#pragma once

#include "server/api/keys.hpp"
#include "server/api/serving.hpp"
#include "server/http/request.hpp"
#include "server/http/response.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/idempotency_http.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::server {

class HubWatch;
class Readiness;

/// The caller of a request.
struct Caller {
  std::string actor;     ///< the name for the audit log
  std::string key_id{};  ///< of the API key
  Role role = Role::admin;
  std::optional<std::string> tenant{};
  bool payloads = true;
};

/// The data of one request for its operation.
struct Call {
  const ApiOptions& options;
  Readiness& readiness;
  HubWatch& hub_watch;
  std::atomic<std::uint32_t>& saga_waits;   ///< requests that wait for the owner of a saga
  std::atomic<std::uint32_t>& reply_waits;  ///< the same for replies by token
  ReplyGate& replies;
  const Request& request;
  const Caller& caller;
  /// The values of the names in braces in the route's path, in order; without the table.
  std::vector<std::string> names{};
  const ServedTable* table = nullptr;  ///< if the path names one
  GroupWriter* writer = nullptr;       ///< of that table
  /// For the request's `Idempotency-Key`, if it has one.
  const HttpIdempotency::Pass* pass = nullptr;

  /// Valid during the call.
  [[nodiscard]] Result<Admin> admin() const { return admin_of(*table->store); }
  [[nodiscard]] Result<Admin> admin_of(Store& store) const;

 private:
  /// The data of our router, if we deliver at least a part of the table.
  [[nodiscard]] std::vector<HeldUp> held_up(const std::string& topic,
                                            const std::string& tenant) const;
  [[nodiscard]] std::optional<RefusedResult> refused(Sequence sequence) const;
  [[nodiscard]] std::optional<OwnerView> owner_view(const MessageRecord& record) const;
};

enum class Needs : std::uint8_t { nothing, read, operate, admin };

/// One operation, with all its properties: its path, which callers may call it, and what the
/// OpenAPI document must describe.
struct Route {
  std::string_view method;
  std::string_view path;  ///< "/v1/tables/{table}/messages/{id}"
  std::string_view operation;
  Needs needs = Needs::read;
  Result<Response> (*answer)(const Call& call) = nullptr;
  /// Used instead of `answer`: replies later, without blocking.
  void (*begin)(const Call& call, Reply reply) = nullptr;
  /// `answer` does not wait for a store: it works even while every worker waits for one.
  bool brief = false;
  /// Needs no API key: the token of a saga's call is checked instead, before the body is read.
  bool by_token = false;

  /// True if it changes something, so that it may have an `Idempotency-Key`.
  [[nodiscard]] bool writes() const noexcept { return method == "POST" && needs >= Needs::operate; }
  /// True if it uses the store of the hub.
  [[nodiscard]] bool of_hub() const noexcept {
    return path.starts_with("/v1/events") || path.starts_with("/v1/subscriptions") ||
           path.starts_with("/v1/deliveries");
  }
  /// True if its answer contains a secret, which must not be stored for a repetition.
  [[nodiscard]] bool answers_secret() const noexcept {
    return operation == "createSubscription" || operation == "rotateSecret";
  }
};

std::span<const Route> routes();

struct RouteMatch {
  const Route* route = nullptr;             ///< null: 404, or 405 if there are methods
  std::vector<std::string> names{};         ///< the values of the parts in braces
  std::vector<std::string_view> methods{};  ///< the methods of the path
};
RouteMatch match_route(std::string_view method, std::span<const std::string> segments);

}  // namespace sagabox::server
