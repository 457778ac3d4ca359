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

/// Bit by bit, in the order of a route's targets.
using TargetBits = std::uint16_t;
inline constexpr std::size_t targets_max = 16;

/// What the targets have said for good.
struct TargetAnswers {
  TargetBits arrived = 0;
  TargetBits refused = 0;
};

struct Target {
  std::string text;
  std::string shown;  ///< without what a URL may hide
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
  std::uint32_t fingerprint = 0;  ///< of the targets' names

  /// Why it may not go this way; nothing: it may.
  [[nodiscard]] std::optional<Error> objection(const Message& message) const;
  /// Why a payload does not fit the schema; nothing: it does, or it is no JSON, or there is none.
  [[nodiscard]] std::optional<Error> misfit(const Payload& payload) const;
  /// Nothing where it speaks of other targets than these: the routes have changed since, and
  /// sending again is better than not sending.
  [[nodiscard]] TargetAnswers answers(TargetsDone done) const noexcept;
  [[nodiscard]] TargetsDone as_done(const TargetAnswers& answers) const noexcept;
};

/// The routes, checked; which one a topic takes is looked up once. Thread-safe.
class RouteTable {
 public:
  /// Asks the transports about the addresses.
  /// Everything that is wrong with the routes, each alone, in their order.
  static std::vector<Error> problems(const RouterOptions& options);
  static Result<std::unique_ptr<RouteTable>> build(const RouterOptions& options);

  /// Null: there is none.
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
