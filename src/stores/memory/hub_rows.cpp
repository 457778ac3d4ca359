#include "stores/memory/hub_rows.hpp"

#include <algorithm>

namespace sagabox::memory {
namespace {

/// No attempt of it has ended by this change.
bool goes_on(DeliveryState state) {
  return state == DeliveryState::waiting || state == DeliveryState::in_progress;
}

}  // namespace

HubEventRows::ExternalKey HubEventRows::external_key(const HubEvent& event) {
  return {event.message->tenant(), event.source, event.external_id};
}

const HubEvent* HubEventRows::known(const HubEvent& event) const {
  if (const auto* same = find(event.id)) return same;
  if (event.external_id.empty()) return nullptr;
  const auto at = external_.find(external_key(event));
  return at == external_.end() ? nullptr : find(at->second);
}

const HubEvent* HubEventRows::find(const EventId& id) const {
  const auto at = events_.find(id);
  return at == events_.end() ? nullptr : &at->second;
}

const HubEventRows::Feed* HubEventRows::feed(Shard shard) const {
  const auto at = feeds_.find(shard.value);
  return at == feeds_.end() ? nullptr : &at->second;
}

void HubEventRows::put(const HubEvent& event) {
  events_.emplace(event.id, event);
  if (!event.external_id.empty()) external_.emplace(external_key(event), event.id);
  feeds_[event.shard.value].emplace(event.sequence, event.id);
  all_.emplace(event.sequence, event.id);
}

void HubEventRows::remove(const EventId& id) {
  const auto at = events_.find(id);
  const HubEvent& event = at->second;
  if (!event.external_id.empty()) external_.erase(external_key(event));
  feeds_[event.shard.value].erase(event.sequence);
  all_.erase(event.sequence);
  events_.erase(at);
}

Sequence HubEventRows::position(Shard shard) const {
  const auto at = positions_.find(shard.value);
  return at == positions_.end() ? Sequence{} : at->second;
}

void HubEventRows::move(const spi::RoutingPosition& to) {
  auto& position = positions_[to.shard.value];
  position = std::max(position, to.position);
}

const DeliveryRecord* HubDeliveryRows::find(const DeliveryId& id) const {
  const auto at = ids_.find(id);
  return at == ids_.end() ? nullptr : &rows_.at(at->second);
}

const std::map<SubscriptionId, HubDeliveryRows::Due>* HubDeliveryRows::pending(Shard shard) const {
  const auto at = pending_.find(shard.value);
  return at == pending_.end() ? nullptr : &at->second;
}

bool HubDeliveryRows::is_turn_of_key(const DeliveryRecord& delivery) const {
  if (delivery.key.empty()) return true;
  const Key of{delivery.subscription, delivery.key};
  if (in_progress_.contains(of)) return false;
  const auto key = keys_.find(of);
  return key == keys_.end() || *key->second.begin() >= delivery.sequence;
}

void HubDeliveryRows::index(const DeliveryRecord& delivery) {
  if (delivery.state == DeliveryState::pending) {
    pending_[delivery.shard.value][delivery.subscription].emplace(delivery.next_attempt_at,
                                                                  delivery.sequence);
  }
  if (!delivery.key.empty() && !has_ended(delivery.state)) {
    keys_[{delivery.subscription, delivery.key}].insert(delivery.sequence);
    if (delivery.state == DeliveryState::in_progress) {
      in_progress_.insert({delivery.subscription, delivery.key});
    }
  }
}

void HubDeliveryRows::take_from_index(const DeliveryRecord& delivery) {
  if (delivery.state == DeliveryState::pending) {
    auto& of_shard = pending_[delivery.shard.value];
    auto& due = of_shard[delivery.subscription];
    due.erase({delivery.next_attempt_at, delivery.sequence});
    if (due.empty()) of_shard.erase(delivery.subscription);
  }
  if (!delivery.key.empty() && !has_ended(delivery.state)) {
    const auto key = keys_.find({delivery.subscription, delivery.key});
    key->second.erase(delivery.sequence);
    if (key->second.empty()) keys_.erase(key);
    if (delivery.state == DeliveryState::in_progress) {
      in_progress_.erase(in_progress_.find({delivery.subscription, delivery.key}));
    }
  }
}

void HubDeliveryRows::add(DeliveryRecord delivery) {
  add_as(Sequence{next_sequence_++}, std::move(delivery));
}

void HubDeliveryRows::add_late(DeliveryRecord delivery) {
  if (early_.empty()) return add(std::move(delivery));
  const auto sequence = early_.front();
  early_.pop_front();
  add_as(sequence, std::move(delivery));
}

void HubDeliveryRows::add_as(Sequence sequence, DeliveryRecord delivery) {
  delivery.sequence = sequence;
  ids_.emplace(delivery.id, delivery.sequence);
  events_.insert(delivery.event);
  index(delivery);
  rows_.emplace(delivery.sequence, std::move(delivery));
}

void HubDeliveryRows::change(const DeliveryRecord& delivery) {
  auto& row = rows_.at(ids_.at(delivery.id));
  take_from_index(row);
  row = delivery;
  index(row);
  if (row.key.empty() || goes_on(row.state)) return;
  const auto key = keys_.find({row.subscription, row.key});
  if (key == keys_.end()) return;
  auto& next = rows_.at(*key->second.begin());
  if (next.state != DeliveryState::waiting) return;
  next.state = DeliveryState::pending;
  index(next);
}

void HubDeliveryRows::remove(const DeliveryId& id) {
  const auto at = ids_.find(id);
  const auto row = rows_.find(at->second);
  take_from_index(row->second);
  events_.erase(events_.find(row->second.event));
  rows_.erase(row);
  ids_.erase(at);
  snapshots.erase(id);
}

std::vector<SubscriptionRecord> HubRows::changed_after(std::uint64_t change,
                                                       WallTime disabled_since) const {
  std::vector<SubscriptionRecord> changed;
  for (const auto& [id, record] : subscriptions) {
    const bool is_old =
        record.state == SubscriptionState::disabled && record.changed_at <= disabled_since;
    if (change == 0 && is_old) continue;
    if (record.change > change) changed.push_back(record);
  }
  std::ranges::sort(changed, {}, &SubscriptionRecord::change);
  return changed;
}

}  // namespace sagabox::memory
