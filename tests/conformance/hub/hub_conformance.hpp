#pragma once

#include "conformance/store_conformance.hpp"

#include <sagabox/hub_record.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::conformance {

/// What every store of the delivery hub must do.
class HubConformance : public StoreConformance {
 protected:
  static constexpr std::string_view order_placed = "shop.order.placed.v1";

  spi::EventStore& events() { return store().hub()->events; }
  spi::SubscriptionStore& subscriptions() { return store().hub()->subscriptions; }
  spi::DeliveryStore& deliveries() { return store().hub()->deliveries; }
  spi::JobStore& jobs() { return store().hub()->jobs; }
  spi::HubAdminStore& hub_admin() { return store().hub()->admin; }
  WallTime now() { return stats().now; }

  // Events.
  HubEvent event(std::string key = {}, std::string payload = R"({"n":1})",
                 std::string tenant = "acme");
  /// In a committed transaction of its own.
  std::vector<Published> publish(const std::vector<HubEvent>& events);
  Published publish(const HubEvent& event) { return publish(std::vector{event}).front(); }
  /// Every event, all shards, by sequence.
  std::vector<HubEvent> read_events(Sequence after = {});
  spi::RoutingReply read_events_of(const spi::FeedRange& range,
                                   std::size_t bytes_max = bytes_unbounded,
                                   std::uint64_t subscriptions_after = 0);
  /// Published and read back.
  HubEvent stored_event(std::string key = {});

  // Owners.
  Owner own_hub(const std::string& scope);
  Owner own_routing() { return own_hub("hub:router"); }
  Owner own_deliveries() { return own_hub("hub:deliveries"); }
  static spi::Fencing fencing(const Owner& owner) { return {owner.scope, owner.id, owner.fences}; }

  // Subscriptions.
  static SubscriptionId subscription_id(std::string_view text) {
    return SubscriptionId::parse(text).value();
  }
  static SubscriptionRecord subscription(std::string_view id,
                                         SubscriptionState state = SubscriptionState::active);
  /// Written with the next version; as it is stored then.
  SubscriptionRecord put(SubscriptionRecord record);

  // Deliveries.
  /// What the router would make; `key` as it would be with `order: key`.
  static DeliveryRecord delivery_to(const HubEvent& event, std::string_view subscription,
                                    std::uint16_t shards, std::string key = {});
  /// Of a new event; added, and read back.
  DeliveryRecord added(std::string_view subscription, const std::string& key = {});
  std::vector<DeliveryRecord> added(std::size_t count, std::string_view subscription,
                                    const std::string& key = {});
  DeliveryRecord look_at(const DeliveryId& id);
  std::vector<std::string> due_ids(const DeliveryRecord& like, std::uint32_t rows_max = 1000);
  /// Must begin.
  DeliveryRecord begun(const Owner& owner, const DeliveryRecord& delivery);
  spi::DeliveryStore::BeginReply begin(const Owner& owner,
                                       const std::vector<spi::AttemptOf>& attempts);
  static spi::AttemptOf next_attempt(const DeliveryRecord& delivery) {
    return {delivery.id, delivery.attempt + 1};
  }
  static spi::DeliveryChange ends(const DeliveryRecord& delivery, DeliveryState state);
  spi::DeliveryStore::ChangeReply change(const Owner& owner,
                                         const std::vector<spi::DeliveryChange>& changes);
  /// Begun, buried if it dies, and ended in this state.
  DeliveryRecord ended_in(const Owner& owner, const DeliveryRecord& delivery, DeliveryState state);

  // Jobs.
  static JobRecord job_of(const DeliveryRecord& delivery);
  /// Begun, and with a job.
  DeliveryRecord with_job(const Owner& owner, const DeliveryRecord& delivery);
  LeaseToken token() { return ids_.next<LeaseToken>(); }
  std::vector<spi::LeasedJob> lease(const LeaseToken& token, std::uint32_t rows_max = 1000,
                                    Duration lease_for = std::chrono::seconds(60));
  static JobResult failure(int status = 500);
  static JobResult success();
  static spi::AttemptOf of(const DeliveryRecord& delivery) {
    return {delivery.id, delivery.attempt};
  }
  bool finish(const LeaseToken& token, const DeliveryRecord& delivery, const JobResult& result);
  /// The whole way of a delivery: begun, sent, and its result applied and seen.
  DeliveryRecord delivered(const Owner& owner, const DeliveryRecord& delivery,
                           const JobResult& result, DeliveryState state);

  static AuditEvent act(std::string detail);
};

std::vector<std::string> ids_of(const std::vector<HubEvent>& events);
std::vector<std::string> ids_of(const std::vector<DeliveryRecord>& deliveries);

}  // namespace sagabox::conformance
