#include "spi/hub_rules.hpp"
#include "stores/memory/database.hpp"

#include <algorithm>

namespace sagabox::memory {

Result<bool> HubSubscriptions::write(const SubscriptionRecord& record,
                                     std::span<const AuditEvent> audit) {
  if (auto valid = spi::check_subscription(record); !valid.ok()) return valid.error();
  auto written = database_.faulty(Operation::hub_subscribe, [&]() -> Result<bool> {
    const std::lock_guard lock(database_.mutex_);
    auto& hub = database_.state_.hub;
    const auto known = hub.subscriptions.find(record.id);
    const SubscriptionRecord* stored = known == hub.subscriptions.end() ? nullptr : &known->second;
    if ((stored == nullptr ? 0 : stored->version) + 1 != record.version) return false;
    if (stored != nullptr && stored->tenant != record.tenant) {
      return spi::other_tenant(record.id);
    }
    auto next = record;
    const auto now = database_.now();
    next.active_since = spi::active_since_after(stored, record.state, now);
    next.created_at = stored == nullptr ? now : stored->created_at;
    next.changed_at = now;
    next.change = ++hub.last_change;
    hub.subscriptions.insert_or_assign(next.id, next);
    for (const auto& event : audit) database_.state_.audit.append(event);
    return true;
  });
  if (written.ok() && *written) database_.notify_if_told(hub_deliveries_signal);
  return written;
}

Result<std::optional<SubscriptionRecord>> HubSubscriptions::get(const SubscriptionId& id) {
  using Found = std::optional<SubscriptionRecord>;
  return database_.faulty(Operation::hub_look, [&]() -> Result<Found> {
    const std::lock_guard lock(database_.mutex_);
    const auto& all = database_.state_.hub.subscriptions;
    const auto known = all.find(id);
    return known == all.end() ? Found() : Found(known->second);
  });
}

Result<std::vector<SubscriptionRecord>> HubSubscriptions::list(
    const spi::SubscriptionList& request) {
  using Records = std::vector<SubscriptionRecord>;
  return database_.faulty(Operation::hub_look, [&]() -> Result<Records> {
    Records records;
    const std::lock_guard lock(database_.mutex_);
    const auto& all = database_.state_.hub.subscriptions;
    for (auto at = all.upper_bound(request.after);
         at != all.end() && records.size() < request.rows_max; ++at) {
      if (spi::fits(at->second, request.filter)) records.push_back(at->second);
    }
    return records;
  });
}

Result<spi::SubscriptionStore::Count> HubSubscriptions::count(std::string_view tenant) {
  return database_.faulty(Operation::hub_look, [&]() -> Result<Count> {
    Count count;
    const std::lock_guard lock(database_.mutex_);
    for (const auto& [id, record] : database_.state_.hub.subscriptions) {
      if (record.tenant != tenant) continue;
      ++(record.state == SubscriptionState::disabled ? count.disabled : count.enabled);
    }
    return count;
  });
}

Result<std::uint32_t> HubSubscriptions::add_secret(const SubscriptionId& id,
                                                   std::string_view sealed, Duration overlap,
                                                   std::span<const AuditEvent> audit) {
  return database_.faulty(Operation::hub_subscribe, [&]() -> Result<std::uint32_t> {
    const std::lock_guard lock(database_.mutex_);
    auto& hub = database_.state_.hub;
    if (!hub.subscriptions.contains(id)) return spi::no_subscription(id);
    auto& secrets = hub.secrets[id];
    const auto now = database_.now();
    const auto live = std::ranges::count_if(secrets, [&](const spi::SealedSecret& secret) {
      return !secret.expires_at || *secret.expires_at > now;
    });
    auto fits = spi::check_new_secret(id, static_cast<std::size_t>(live), overlap);
    if (!fits.ok()) return fits.error();
    const auto end = now + std::chrono::ceil<WallTime::duration>(overlap);
    for (auto& secret : secrets) {
      secret.expires_at = std::min(secret.expires_at.value_or(end), end);
    }
    const auto number = secrets.empty() ? 1 : secrets.back().number + 1;
    secrets.push_back({.number = number, .sealed = std::string(sealed), .created_at = now});
    for (const auto& event : audit) database_.state_.audit.append(event);
    return number;
  });
}

Result<std::vector<spi::SubscriptionStore::SecretsOf>> HubSubscriptions::secrets(
    std::span<const SubscriptionId> ids) {
  return database_.faulty(Operation::hub_look, [&]() -> Result<std::vector<SecretsOf>> {
    std::vector<SecretsOf> found;
    const std::lock_guard lock(database_.mutex_);
    const auto now = database_.now();
    const auto& all = database_.state_.hub.secrets;
    for (const auto& id : ids) {
      auto& of_one = found.emplace_back(SecretsOf{.subscription = id, .secrets = {}});
      const auto known = all.find(id);
      if (known == all.end()) continue;
      for (const auto& secret : known->second) {
        if (!secret.expires_at || *secret.expires_at > now) of_one.secrets.push_back(secret);
      }
      std::ranges::reverse(of_one.secrets);
    }
    return found;
  });
}

Result<std::uint64_t> HubSubscriptions::reseal(std::span<const ResealedSecret> secrets) {
  return database_.faulty(Operation::hub_subscribe, [&]() -> Result<std::uint64_t> {
    std::uint64_t resealed = 0;
    const std::lock_guard lock(database_.mutex_);
    for (const auto& wanted : secrets) {
      const auto known = database_.state_.hub.secrets.find(wanted.subscription);
      if (known == database_.state_.hub.secrets.end()) continue;
      for (auto& secret : known->second) {
        if (secret.number != wanted.number || secret.sealed != wanted.before) continue;
        secret.sealed = wanted.after;
        ++resealed;
      }
    }
    return resealed;
  });
}

}  // namespace sagabox::memory
