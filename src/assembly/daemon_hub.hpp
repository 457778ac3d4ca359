#pragma once

#include "assembly/configuration.hpp"
#include "assembly/routes.hpp"
#include "delivery/secret_box.hpp"

#include <sagabox/hub.hpp>
#include <sagabox/hub_admin.hpp>
#include <sagabox/store.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::assembly {

/// CONFIG.INVALID if `hub.store` does not determine the hub's store.
Result<std::string> hub_store(const Configuration& configuration);

/// Checks whether the hub of this configuration could be opened, if it is enabled; connects to
/// nothing.
Status check_hub(const Configuration& configuration, const RouteDependencies& dependencies);

/// The delivery hub of a daemon. The store must outlive it.
class DaemonHub {
 public:
  /// Makes its tables, opens its transports; connects to nothing and delivers nothing yet.
  static Result<std::unique_ptr<DaemonHub>> open(Store& store, const Configuration& configuration,
                                                 const RouteDependencies& dependencies);

  Status start() { return engine_->start(); }
  /// TX.TIMEOUT if something was still running.
  Status stop() { return engine_->stop(); }
  void subscriptions_changed() { engine_->subscriptions_changed(); }

  [[nodiscard]] Store& store() noexcept { return store_; }
  [[nodiscard]] const std::string& secret_key() const noexcept { return settings_.secret_key; }
  [[nodiscard]] std::uint32_t subscriptions_max() const noexcept {
    return settings_.subscriptions_max;
  }
  /// See HubAdminOptions. SERVER.BUSY while `probes_max` are running: a probe waits for a slow
  /// endpoint, and other callers need workers, too.
  Result<ProbeReport> probe(const EndpointProbe& probe);
  [[nodiscard]] Status check_target(std::string_view target) const;
  /// The number of subscriptions; nullopt if they cannot be read now.
  [[nodiscard]] std::optional<std::uint64_t> subscriptions() const;
  [[nodiscard]] std::optional<EndpointState> endpoint(const SubscriptionId& id) const {
    return engine_->endpoint(id);
  }
  [[nodiscard]] Status check_event(const HubEvent& event) const { return types_.check(event); }

  static constexpr std::uint32_t probes_max = 2;
  /// Applies even if the subscription has a longer timeout.
  static constexpr Duration probe_timeout_max = std::chrono::seconds(15);

 private:
  DaemonHub(Store& store, HubSettings settings, RouteDependencies dependencies)
      : store_(store), settings_(std::move(settings)), dependencies_(std::move(dependencies)) {}

  Store& store_;
  const HubSettings settings_;
  const RouteDependencies dependencies_;
  std::unique_ptr<const delivery::SecretBox> box_;  // null: no key
  OpenTransports transports_;
  EventTypes types_;
  std::atomic<std::uint32_t> probes_{0};
  std::optional<Hub> engine_;  // set once it is open
};

}  // namespace sagabox::assembly
