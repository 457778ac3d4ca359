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

/// Who asks.
struct Caller {
  std::string actor;     ///< as the audit log will say
  std::string key_id{};  ///< of the key that was used
  Role role = Role::admin;
  std::optional<std::string> tenant{};
  bool payloads = true;
};

/// One request on its way to its operation.
struct Call {
  const ApiOptions& options;
  Readiness& readiness;
  HubWatch& hub_watch;
  std::atomic<std::uint32_t>& saga_waits;   ///< requests that wait for the owner of a saga
  std::atomic<std::uint32_t>& reply_waits;  ///< the same, of replies by token
  ReplyGate& replies;
  const Request& request;
  const Caller& caller;
  /// What stands for the names in braces of the route's path, in order; without the table.
  std::vector<std::string> names{};
  const ServedTable* table = nullptr;  ///< of a path that names one
  GroupWriter* writer = nullptr;       ///< of that table
  /// Of the request's `Idempotency-Key`, where it has one.
  const HttpIdempotency::Pass* pass = nullptr;

  /// For as long as the call lasts.
  [[nodiscard]] Result<Admin> admin() const { return admin_of(*table->store); }
  [[nodiscard]] Result<Admin> admin_of(Store& store) const;

 private:
  /// What our router knows counts where we deliver at least a part of the table.
  [[nodiscard]] std::vector<HeldUp> held_up(const std::string& topic,
                                            const std::string& tenant) const;
  [[nodiscard]] std::optional<RefusedResult> refused(Sequence sequence) const;
  [[nodiscard]] std::optional<OwnerView> owner_view(const MessageRecord& record) const;
};

enum class Needs : std::uint8_t { nothing, read, operate, admin };

/// One operation. All that is known of it stands here: what is not found or not allowed, who may
/// call it, and what the OpenAPI document must describe.
struct Route {
  std::string_view method;
  std::string_view path;  ///< "/v1/tables/{table}/messages/{id}"
  std::string_view operation;
  Needs needs = Needs::read;
  Result<Response> (*answer)(const Call& call) = nullptr;
  /// Instead of `answer`: replies later, without blocking.
  void (*begin)(const Call& call, Reply reply) = nullptr;
  /// `answer` waits for no store: it goes on when every worker waits for one.
  bool brief = false;
  /// Without a key of the API: the token of a saga's call is asked for instead, before the body.
  bool by_token = false;

  /// It changes something, so it may have an `Idempotency-Key`.
  [[nodiscard]] bool writes() const noexcept { return method == "POST" && needs >= Needs::operate; }
  /// It works on the store of the hub.
  [[nodiscard]] bool of_hub() const noexcept {
    return path.starts_with("/v1/events") || path.starts_with("/v1/subscriptions") ||
           path.starts_with("/v1/deliveries");
  }
  /// Its answer has a secret, which must not be kept for a repetition.
  [[nodiscard]] bool answers_secret() const noexcept {
    return operation == "createSubscription" || operation == "rotateSecret";
  }
};

std::span<const Route> routes();

struct RouteMatch {
  const Route* route = nullptr;             ///< nothing: 404, or 405 when there are methods
  std::vector<std::string> names{};         ///< for those in braces
  std::vector<std::string_view> methods{};  ///< that the path has
};
RouteMatch match_route(std::string_view method, std::span<const std::string> segments);

}  // namespace sagabox::server
