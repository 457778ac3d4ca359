#include "delivery/subscription_book.hpp"

#include "spi/hub_rules.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::delivery {
namespace {

bool is_exact(const routing::TopicPattern& pattern) {
  return pattern.text().find('*') == std::string::npos;
}

bool was_active_before(const Subscription& subscription, const HubEvent& event) {
  const auto& record = subscription.record;
  return takes_events(record.state) && record.active_since &&
         *record.active_since <= event.published_at;
}

}  // namespace

void SubscriptionBook::apply(std::span<const SubscriptionRecord> changed) {
  for (const auto& record : changed) change_ = std::max(change_, record.change);
  add(changed);
}

void SubscriptionBook::add(std::span<const SubscriptionRecord> records) {
  for (const auto& record : records) {
    auto& known = all_[record.id];
    if (known && known->record.change >= record.change) continue;
    if (known) take_out(*known);
    known = std::make_shared<const Subscription>(record);
    if (takes_events(record.state)) put_in(known);
  }
}

void SubscriptionBook::replace(std::span<const SubscriptionRecord> all) {
  SubscriptionBook fresh;
  for (const auto& record : all) {
    auto known = find(record.id);
    // Reading the settings of thousands takes its time.
    // After a fail-over another change may have the number of one that was lost.
    if (!known || known->record != record) {
      known = std::make_shared<const Subscription>(record);
    }
    fresh.change_ = std::max(fresh.change_, record.change);
    if (takes_events(record.state)) fresh.put_in(known);
    fresh.all_.emplace(record.id, std::move(known));
  }
  *this = std::move(fresh);
}

void SubscriptionBook::take_out(const Subscription& subscription) {
  const auto tenant = tenants_.find(subscription.record.tenant);
  if (tenant == tenants_.end()) return;
  const auto& id = subscription.record.id;
  auto& [exact, wild] = tenant->second;
  wild.erase(id);
  for (const auto& pattern : subscription.types) {
    const auto type = exact.find(pattern.text());
    if (type == exact.end()) continue;
    type->second.erase(id);
    if (type->second.empty()) exact.erase(type);
  }
  if (exact.empty() && wild.empty()) tenants_.erase(tenant);
}

void SubscriptionBook::put_in(const Shared& subscription) {
  longest_timeout_ = std::max(longest_timeout_, subscription->settings.timeout);
  auto& tenant = tenants_[subscription->record.tenant];
  const auto& id = subscription->record.id;
  for (const auto& pattern : subscription->types) {
    if (is_exact(pattern)) {
      tenant.exact[pattern.text()].insert_or_assign(id, subscription);
    } else {
      tenant.wild.insert_or_assign(id, subscription);
    }
  }
}

SubscriptionBook::Shared SubscriptionBook::find(const SubscriptionId& id) const {
  const auto known = all_.find(id);
  return known == all_.end() ? nullptr : known->second;
}

std::vector<SubscriptionBook::Shared> SubscriptionBook::matching(const HubEvent& event) const {
  std::vector<Shared> found;
  const auto tenant = tenants_.find(event.message->tenant());
  if (tenant == tenants_.end()) return found;
  const std::string& type = event.message->topic();
  std::vector<Shared> fitting;
  if (const auto exact = tenant->second.exact.find(type); exact != tenant->second.exact.end()) {
    for (const auto& [id, subscription] : exact->second) fitting.push_back(subscription);
  }
  for (const auto& [id, subscription] : tenant->second.wild) {
    const bool fits = std::ranges::any_of(
        subscription->types, [&](const routing::TopicPattern& one) { return one.fits(type); });
    if (fits) fitting.push_back(subscription);
  }
  const auto id_of = [](const Shared& one) -> const SubscriptionId& { return one->record.id; };
  std::ranges::sort(fitting, {}, id_of);
  const auto surplus = std::ranges::unique(fitting);  // by a type and by a wildcard
  fitting.erase(surplus.begin(), surplus.end());
  FilteredEvent filtered(event);
  for (auto& subscription : fitting) {
    if (!was_active_before(*subscription, event)) continue;
    if (subscription->settings.filter.wants(filtered)) found.push_back(std::move(subscription));
  }
  return found;
}

DeliveryRecord delivery_of(const HubEvent& event, const Subscription& subscription,
                           std::uint16_t shards) {
  const auto& id = subscription.record.id;
  const bool ordered = subscription.settings.order == DeliveryOrder::key;
  return {.id = delivery_id_of(event.id, id, 0),
          .event = event.id,
          .subscription = id,
          .tenant = event.message->tenant(),
          .type = event.message->topic(),
          .key = ordered ? event.message->key() : std::string(),
          .shard = spi::delivery_shard(id, shards),
          .correlation_id = event.message->trace().correlation_id};
}

}  // namespace sagabox::delivery
