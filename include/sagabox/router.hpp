#pragma once

#include <sagabox/held_up.hpp>
#include <sagabox/json_schema.hpp>
#include <sagabox/limits.hpp>
#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/payload.hpp>
#include <sagabox/retry.hpp>
#include <sagabox/spi/sink.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/time.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sagabox {

/// A target of a route: `kafka:orders`, `https://hooks.example.com/invoices`, `bus:orders`.
struct TargetOptions {
  std::string to;
  spi::AddressSettings settings{};  ///< specific to the transport, see its header
};

/// Messages of these topics go to these targets.
struct RouteOptions {
  /// `orders.order.placed.v1`; `*` matches one part, `**` at the end matches all remaining parts.
  std::string topic;
  /// Each message is sent to all targets. It is done when it has arrived at all of them; a target
  /// that has it does not get it again. 16 at most.
  std::vector<TargetOptions> to;
  std::optional<RetryPolicy> retry{};  ///< default: the table's
  /// The time limit of one send to one target; default: `RouterOptions::timeout`.
  std::optional<Duration> timeout{};
  Limits limits{};  ///< for all sends of this route together
  /// JSON payloads that do not fit are not sent; the message becomes dead with
  /// SCHEMA.VALIDATION_FAILED. Use it for messages written with plain SQL; an outbox checks its own
  /// writes (`OutboxOptions::schemas`).
  std::optional<JsonSchema> schema{};
  /// The tenants that may use it; empty: all. Messages of other tenants become dead with
  /// AUTH.DENIED.
  std::vector<std::string> tenants{};
};

struct RouterOptions {
  /// The first route whose topic matches is used.
  std::vector<RouteOptions> routes;
  /// By the scheme of a target, the part before the colon; `http` serves `http://` and `https://`.
  std::map<std::string, std::shared_ptr<spi::Transport>, std::less<>> transports;

  std::map<std::string, Limits, std::less<>> transport_limits{};
  /// The limits of each single tenant; `limits_of_tenant` overrides them for some tenants.
  Limits tenant_limits{};
  std::map<std::string, Limits, std::less<>> limits_of_tenant{};
  /// Tenants take turns at a destination: a tenant with many waiting messages does not delay one
  /// with few.
  bool fair_tenants = false;

  Duration timeout = std::chrono::seconds(30);
  BreakerOptions breaker{};
  /// The most messages that wait in this process to be sent, for all destinations together.
  std::uint32_t waiting_max = 2048;

  /// These outlive the router.
  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
};

/// The state of a destination.
struct DestinationState {
  std::string target;
  bool down = false;
  Duration down_for{};
  Duration next_probe{};  ///< from now; 0: at once
  std::uint32_t under_way = 0;
  std::string last_error{};
};

/// Sends messages to the targets of their routes over transports, which it closes when it is
/// destroyed. Give it to an outbox as `OutboxOptions::sink`; several may share it. A destination
/// that cannot be reached is probed at intervals, its messages wait in the database, and no attempt
/// is spent.
class Router final : public spi::Sink {
 public:
  /// Checks every route, and every address with its transport. CONFIG.INVALID names the route, what
  /// is wrong with it and what would be right.
  static Result<std::shared_ptr<Router>> open(RouterOptions options);
  ~Router() override;
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  [[nodiscard]] std::vector<DestinationState> destinations() const;
  /// The reasons why messages of this topic and tenant cannot be sent at the moment, one for each
  /// target that is held up; empty if they can.
  [[nodiscard]] std::vector<HeldUp> held_up(const std::string& topic,
                                            const std::string& tenant) const;

  /// SCHEMA.VALIDATION_FAILED if messages of this topic have a schema that this JSON payload does
  /// not fit: they would be dead when they are sent. For those who write.
  [[nodiscard]] Status check_payload(const std::string& topic, const Payload& payload) const;

  [[nodiscard]] std::optional<spi::ClassId> class_of(const Message& message) const override;
  [[nodiscard]] bool closed(spi::ClassId id) const override;
  [[nodiscard]] bool samples(spi::ClassId id) const override;
  [[nodiscard]] bool takes(const Message& message) const override;
  [[nodiscard]] std::uint32_t attempts_max(std::uint32_t of_table) const override;
  void join(spi::DispatchResults& results) override;
  void deliver(std::span<spi::Dispatch> dispatches, spi::DispatchResults& results) override;
  void recall(spi::DispatchResults& results, Shard shard) override;
  void leave(spi::DispatchResults& results) override;

 private:
  struct Parts;
  explicit Router(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sagabox
