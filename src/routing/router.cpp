#include "routing/forwarder.hpp"
#include "routing/route_table.hpp"

#include <sagabox/router.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace sagabox {
namespace {

constexpr Duration wait_min = std::chrono::milliseconds(1);
constexpr Duration wait_max = std::chrono::milliseconds(500);
constexpr Duration close_timeout = std::chrono::seconds(5);

Status check(const RouterOptions& options) {
  if (auto breaker = options.breaker.check(); !breaker.ok()) return breaker.error();
  if (options.timeout <= Duration{}) {
    return Error{Code::config_invalid, "timeout must be above 0"};
  }
  if (options.waiting_max == 0) {
    return Error{Code::config_invalid, "waiting_max is 0; it must be at least 1"};
  }
  if (auto limits = options.tenant_limits.check(); !limits.ok()) {
    return Error{limits.error().code, "tenant_limits: " + limits.error().message};
  }
  for (const auto* named : {&options.transport_limits, &options.limits_of_tenant}) {
    for (const auto& [name, limits] : *named) {
      if (auto checked = limits.check(); !checked.ok()) {
        return Error{checked.error().code, "limits of " + name + ": " + checked.error().message};
      }
    }
  }
  for (const auto& [name, limits] : options.transport_limits) {
    if (!options.transports.contains(name)) {
      return Error{Code::config_invalid,
                   "transport_limits: there is no transport \"" + name + "\""};
    }
  }
  return {};
}

}  // namespace

/// The forwarder, and the thread that calls `pump` when it is due.
struct Router::Parts {
  Parts(RouterOptions settings, std::unique_ptr<routing::RouteTable> table)
      : options(std::move(settings)),
        forwarder(options, std::move(table), [this] { ring(); }),
        pump([this] { run(); }) {}

  ~Parts() {
    {
      const std::scoped_lock lock(mutex);
      ending = true;
    }
    rung_bell.notify_all();
    pump.join();
    for (auto& [name, transport] : options.transports) {
      transport->close(options.clock->boot_now() + close_timeout);
    }
  }

  void ring() {
    {
      const std::scoped_lock lock(mutex);
      if (std::exchange(rung, true)) return;
    }
    rung_bell.notify_one();
  }

  void run() {
    for (;;) {
      const auto now = options.clock->boot_now();
      const auto at = forwarder.wake_at();
      const auto wait = at == BootTime::max() ? wait_max : std::clamp(at - now, wait_min, wait_max);
      {
        std::unique_lock lock(mutex);
        rung_bell.wait_for(lock, wait, [this] { return rung || ending; });
        if (ending) return;
        rung = false;
      }
      forwarder.pump();
    }
  }

  RouterOptions options;
  std::mutex mutex;  // protects the two members below
  bool rung = false;
  bool ending = false;
  std::condition_variable rung_bell;
  routing::Forwarder forwarder;
  std::thread pump;
};

Router::Router(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Router::~Router() = default;

Result<std::shared_ptr<Router>> Router::open(RouterOptions options) {
  if (auto checked = check(options); !checked.ok()) return checked.error();
  auto table = routing::RouteTable::build(options);
  if (!table.ok()) return table.error();
  return std::shared_ptr<Router>(
      new Router(std::make_unique<Parts>(std::move(options), std::move(table).value())));
}

std::vector<DestinationState> Router::destinations() const {
  return parts_->forwarder.destinations();
}

std::vector<HeldUp> Router::held_up(const std::string& topic, const std::string& tenant) const {
  return parts_->forwarder.held_up(topic, tenant);
}

Status Router::check_payload(const std::string& topic, const Payload& payload) const {
  const auto* const route = parts_->forwarder.table().find(topic);
  auto misfit = route == nullptr ? std::nullopt : route->misfit(payload);
  if (misfit) return *std::move(misfit);
  return {};
}

std::optional<spi::ClassId> Router::class_of(const Message& message) const {
  return parts_->forwarder.class_of(message);
}

bool Router::closed(spi::ClassId id) const { return parts_->forwarder.closed(id); }

bool Router::samples(spi::ClassId id) const { return parts_->forwarder.samples(id); }

bool Router::takes(const Message& message) const {
  return parts_->forwarder.table().find(message.topic()) != nullptr;
}

std::uint32_t Router::attempts_max(std::uint32_t of_table) const {
  auto most = of_table;
  for (const auto& route : parts_->forwarder.table().routes()) {
    if (route.retry) most = std::max(most, route.retry->attempts_max);
  }
  return most;
}

void Router::join(spi::DispatchResults& results) { parts_->forwarder.join(results); }

void Router::deliver(std::span<spi::Dispatch> dispatches, spi::DispatchResults& results) {
  parts_->forwarder.deliver(dispatches, results);
}

void Router::recall(spi::DispatchResults& results, Shard shard) {
  parts_->forwarder.recall(results, shard);
}

void Router::leave(spi::DispatchResults& results) { parts_->forwarder.leave(results); }

}  // namespace sagabox
