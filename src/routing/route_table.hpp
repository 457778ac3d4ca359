#pragma once

#include "flow/traffic.hpp"
#include "routing/topic_pattern.hpp"

#include <sagabox/router.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sagabox::routing {

/// One bit for each target, in the order of the route.
using TargetBits = std::uint16_t;
inline constexpr std::size_t targets_max = 16;

/// The final answers of the targets.
struct TargetAnswers {
  TargetBits arrived = 0;
  TargetBits refused = 0;
};

struct Target {
  std::string text;
  std::string shown;  ///< without user, password and query of a URL
  spi::Transport* transport = nullptr;
  std::string transport_name;
  std::shared_ptr<const spi::Address> address;
  flow::DestinationId destination{};
};

struct Route {
  TopicPattern topic;
  std::vector<Target> targets;
  std::optional<RetryPolicy> retry;
  Duration timeout{};
  Limits limits;
  std::vector<std::string> tenants;  // sorted
  std::optional<JsonSchema> schema;
  std::uint32_t number = 0;
  std::uint32_t fingerprint = 0;  ///< a hash of the targets' names

  /// Returns why the route must not be used for this message; nullopt if it may.
  [[nodiscard]] std::optional<Error> objection(const Message& message) const;
  /// Why a payload does not fit the schema; nothing: it does, or it is no JSON, or there is none.
  [[nodiscard]] std::optional<Error> misfit(const Payload& payload) const;
  /// Nothing where it speaks of other targets than these: the routes have changed since, and
  /// sending again is better than not sending.
  [[nodiscard]] TargetAnswers answers(TargetsDone done) const noexcept;
  [[nodiscard]] TargetsDone as_done(const TargetAnswers& answers) const noexcept;
};

/// The checked routes. The route of a topic is searched once and cached. Thread-safe.
class RouteTable {
 public:
  /// Returns the problem of each invalid route, in order. Addresses are checked by their
  /// transports.
  static std::vector<Error> problems(const RouterOptions& options);
  static Result<std::unique_ptr<RouteTable>> build(const RouterOptions& options);

  /// The first route that matches the topic; null if there is none.
  [[nodiscard]] const Route* find(const std::string& topic) const;
  [[nodiscard]] std::vector<Route>& routes() noexcept { return routes_; }
  [[nodiscard]] const std::vector<Route>& routes() const noexcept { return routes_; }

 private:
  Status add(const RouteOptions& described, std::size_t number, const RouterOptions& options);

  std::vector<Route> routes_;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<std::string, const Route*> known_;
};

}  // namespace sagabox::routing
