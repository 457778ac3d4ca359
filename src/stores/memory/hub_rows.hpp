#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/spi/delivery_store.hpp>
#include <sagabox/spi/event_store.hpp>
#include <sagabox/spi/hub_admin_store.hpp>
#include <sagabox/spi/job_store.hpp>
#include <sagabox/spi/subscription_store.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sagabox::memory {

/// Events that are committed, and how far they are routed. Not thread-safe.
class HubEventRows {
 public:
  using Feed = std::map<Sequence, EventId>;

  /// The one that the event repeats: by id, or by tenant, source and external id.
  [[nodiscard]] const HubEvent* known(const HubEvent& event) const;
  [[nodiscard]] const HubEvent* find(const EventId& id) const;
  [[nodiscard]] const Feed* feed(Shard shard) const;
  /// By sequence.
  [[nodiscard]] const Feed& all() const noexcept { return all_; }
  void put(const HubEvent& event);
  void remove(const EventId& id);

  [[nodiscard]] Sequence position(Shard shard) const;
  void move(const spi::RoutingPosition& to);

 private:
  using ExternalKey = std::tuple<std::string, std::string, std::string>;
  static ExternalKey external_key(const HubEvent& event);

  std::map<EventId, HubEvent> events_;
  std::map<ExternalKey, EventId> external_;
  std::map<std::uint16_t, Feed> feeds_;
  Feed all_;
  std::map<std::uint16_t, Sequence> positions_;
};

/// Deliveries with their indexes, and the snapshots of the dead.
class HubDeliveryRows {
 public:
  using Due = std::set<std::pair<WallTime, Sequence>>;

  [[nodiscard]] const DeliveryRecord* find(const DeliveryId& id) const;
  [[nodiscard]] const DeliveryRecord& at(Sequence sequence) const { return rows_.at(sequence); }
  [[nodiscard]] const std::map<Sequence, DeliveryRecord>& all() const noexcept { return rows_; }
  [[nodiscard]] bool has_event(const EventId& event) const { return events_.contains(event); }
  /// Inserts with the next sequence.
  void add(DeliveryRecord delivery);
  /// Draws a sequence now for a row that `add_late` inserts: as a transaction does that commits
  /// late.
  void draw_early() { early_.push_back(Sequence{next_sequence_++}); }
  void add_late(DeliveryRecord delivery);
  /// Replaces the one of this id. When an attempt of one with a key has ended, the first open one
  /// of its key does not wait any more.
  void change(const DeliveryRecord& delivery);
  void remove(const DeliveryId& id);

  /// Pending ones of a shard, by subscription.
  [[nodiscard]] const std::map<SubscriptionId, Due>* pending(Shard shard) const;
  /// No earlier one of its key is open, and none is in progress.
  [[nodiscard]] bool is_turn_of_key(const DeliveryRecord& delivery) const;

  std::map<DeliveryId, HubEvent> snapshots{};

 private:
  using Key = std::pair<SubscriptionId, std::string>;
  void add_as(Sequence sequence, DeliveryRecord delivery);
  void index(const DeliveryRecord& delivery);
  void take_from_index(const DeliveryRecord& delivery);

  std::map<Sequence, DeliveryRecord> rows_;
  std::map<DeliveryId, Sequence> ids_;
  std::map<std::uint16_t, std::map<SubscriptionId, Due>> pending_;
  std::map<Key, std::set<Sequence>> keys_;  // open ones with a key
  std::multiset<Key> in_progress_;
  std::deque<Sequence> early_;
  std::multiset<EventId> events_;
  std::uint64_t next_sequence_ = 1;
};

struct HubJobRow {
  JobRecord record;
  LeaseToken token{};
  bool seen = false;
};

/// All that is committed about the hub. A fail-over copies it.
struct HubRows {
  HubEventRows events{};
  HubDeliveryRows deliveries{};
  std::map<spi::AttemptOf, HubJobRow> jobs{};
  std::map<SubscriptionId, SubscriptionRecord> subscriptions{};
  std::map<SubscriptionId, std::vector<spi::SealedSecret>> secrets{};
  std::uint64_t last_change = 0;
  std::uint64_t next_event = 1;

  /// From 0 without those that were disabled before this time.
  [[nodiscard]] std::vector<SubscriptionRecord> changed_after(std::uint64_t change,
                                                              WallTime disabled_since) const;
};

}  // namespace sagabox::memory
