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

/// Where a route sends to: `kafka:orders`, `https://hooks.example.com/invoices`, `bus:orders`.
struct TargetOptions {
  std::string to;
  spi::AddressSettings settings{};  ///< the transport's own, see its header
};

/// Messages of these topics go to these targets.
struct RouteOptions {
  /// `orders.order.placed.v1`; `*` stands for one part, `**` at the end for all that is left.
  std::string topic;
  /// All of them get it; a message is done when it has arrived everywhere, and what has arrived
  /// is not sent again. 16 at most.
  std::vector<TargetOptions> to;
  std::optional<RetryPolicy> retry{};  ///< default: the table's
  /// Of one send to one target; default: `RouterOptions::timeout`.
  std::optional<Duration> timeout{};
  Limits limits{};  ///< of all sends of this route together
  /// JSON payloads that do not fit are not sent: dead, SCHEMA.VALIDATION_FAILED. For what others
  /// write with plain SQL; an outbox checks its own writes (`OutboxOptions::schemas`).
  std::optional<JsonSchema> schema{};
  /// Who may use it; empty: everybody. Messages of others are dead, AUTH.DENIED.
  std::vector<std::string> tenants{};
};

struct RouterOptions {
  /// The first whose topic fits.
  std::vector<RouteOptions> routes;
  /// By what stands before the colon of a target; `http` serves `http://` and `https://`.
  std::map<std::string, std::shared_ptr<spi::Transport>, std::less<>> transports;

  std::map<std::string, Limits, std::less<>> transport_limits{};
  /// Of each tenant alone, and other ones for some.
  Limits tenant_limits{};
  std::map<std::string, Limits, std::less<>> limits_of_tenant{};
  /// Tenants take turns at a destination: who has much waiting does not hold up who has little.
  bool fair_tenants = false;

  Duration timeout = std::chrono::seconds(30);
  BreakerOptions breaker{};
  /// Waiting in this process for their turn at most, all destinations together.
  std::uint32_t waiting_max = 2048;

  /// These outlive the router.
  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
};

/// How a destination is doing.
struct DestinationState {
  std::string target;
  bool down = false;
  Duration down_for{};
  Duration next_probe{};  ///< from now; 0: at once
  std::uint32_t under_way = 0;
  std::string last_error{};
};

/// Brings messages to where their routes say, over transports, which it closes at its end. Give it
/// to an outbox as `OutboxOptions::sink`; several may share it. A destination that cannot be
/// reached is tried now and then, its messages wait in the database, and no attempt is spent.
class Router final : public spi::Sink {
 public:
  /// Checks every route and asks the transports about every address. CONFIG.INVALID names the
  /// route, what is wrong with it and what would be right.
  static Result<std::shared_ptr<Router>> open(RouterOptions options);
  ~Router() override;
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  [[nodiscard]] std::vector<DestinationState> destinations() const;
  /// What keeps messages of this topic and tenant from going at the moment: a target each. Nothing:
  /// they can.
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
