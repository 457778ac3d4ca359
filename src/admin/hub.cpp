#include "admin/checks.hpp"
#include "admin/hub_checks.hpp"
#include "delivery/secret_box.hpp"

#include <sagabox/hub_admin.hpp>

#include <array>
#include <utility>

namespace sagabox {
namespace {

constexpr std::array<std::string_view, subscription_act_count> subscription_act_names{
    "pause", "resume", "disable", "enable"};

}  // namespace

std::string_view subscription_act_name(SubscriptionAct act) noexcept {
  return subscription_act_names[static_cast<std::size_t>(act)];
}

std::optional<double> SubscriptionHealth::success_rate() const noexcept {
  const auto all = attempts.completed + attempts.failed;
  if (all == 0) return std::nullopt;
  return static_cast<double>(attempts.completed) / static_cast<double>(all);
}

Result<HubAdmin> HubAdmin::open(Store& store, HubAdminOptions options) {
  if (auto status = admin::check_options(options.admin); !status.ok()) return status.error();
  auto hub = store.hub();
  if (!hub) {
    return Error{Code::tx_invalid_state, store.name() + " has no delivery hub; use another store"};
  }
  std::shared_ptr<const delivery::SecretBox> box;
  if (!options.secret_key.empty()) {
    auto created = delivery::SecretBox::create(options.secret_key);
    if (!created.ok()) return created.error();
    box = std::make_shared<const delivery::SecretBox>(std::move(created).value());
  }
  return HubAdmin(store, *hub, std::move(options), std::move(box));
}

Result<std::optional<SubscriptionRecord>> HubAdmin::stored(const SubscriptionId& id) const {
  auto found = hub_.subscriptions.get(id);
  if (!found.ok() || !*found) return found;
  const auto& tenant = options_.admin.tenant;
  if (tenant && (*found)->tenant != *tenant) return std::optional<SubscriptionRecord>();
  return found;
}

Result<SubscriptionRecord> HubAdmin::existing(const SubscriptionId& id) const {
  auto found = stored(id);
  if (!found.ok()) return found.error();
  if (*found) return **std::move(found);
  return Error{Code::request_not_found, "subscription \"" + id.str() + "\" is not there"};
}

void HubAdmin::wake_deliveries() const {
  hub_.deliveries.wake();
  if (options_.changed) options_.changed();
}

void HubAdmin::tell(const AuditEvent& event) const noexcept {
  const auto& audit = *options_.admin.audit;
  if (audit.wants(event.kind)) options_.admin.audit->record(event);
}

}  // namespace sagabox
