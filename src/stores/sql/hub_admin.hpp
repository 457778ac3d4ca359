#pragma once

#include "stores/sql/hub_records.hpp"

#include <sagabox/spi/hub_admin_store.hpp>

#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sagabox::sql {

struct HubAdminStatements {
  explicit HubAdminStatements(Sections& sections);

  Statement events;
  Statement events_external;
  Statement event;
  Statement deliveries;
  Statement deliveries_of;     ///< a subscription
  Statement deliveries_in;     ///< a tenant
  Statement deliveries_about;  ///< an event
  Statement deliveries_dead;
  Statement deliveries_of_dead;
  Statement deliveries_in_dead;
  Statement delivery;
  Statement attempts;
  Statement dead;
  Statement count;
  Statement count_of;  ///< a subscription
  Statement stats;
  Statement unrouted;
  Statement health;
  Statement failing_since;
  Statement generations;
  Statement add;
  Statement old_jobs;
  Statement drop_old_jobs;
  Statement old_deliveries;
  Statement old_events;
  Statement drop_events;
  Statement old_dead;
  Statement drop_jobs;
  Statement drop_dead;
  Statement drop_deliveries;
  Statement drop_secrets;
};

/// What operators see and do, in SQL.
class HubAdminStore final : public spi::HubAdminStore {
 public:
  HubAdminStore(Sections& sections, const HubParts& parts) : parts_(parts), statements_(sections) {}

  Result<std::vector<HubEvent>> events(const spi::EventList& request) override;
  Result<std::optional<HubEvent>> event(const EventId& id) override;
  Result<std::vector<DeliveryRecord>> deliveries(const spi::DeliveryList& request) override;
  Result<std::optional<DeliveryRecord>> delivery(const DeliveryId& id) override;
  Result<std::vector<JobRecord>> attempts(const DeliveryId& id) override;
  Result<std::optional<DeadDelivery>> dead(const DeliveryId& id) override;
  Result<std::vector<spi::DeliveryCount>> count(const spi::DeliveryCountRequest& request) override;
  Result<spi::HubStats> stats(std::uint64_t rows_max) override;
  Result<spi::UnroutedEvents> unrouted(std::uint64_t rows_max) override;
  Result<spi::EndpointHealth> health(const SubscriptionId& id, Duration since,
                                     std::uint32_t rows_max) override;
  Result<std::optional<WallTime>> failing_since(const SubscriptionId& id, Duration within) override;
  Result<std::vector<spi::Requeued>> requeue(std::span<const DeliveryId> ids,
                                             const std::optional<std::string>& tenant,
                                             std::span<const AuditEvent> audit) override;
  Result<spi::HubPurged> purge(const spi::HubPurge& request) override;
  Result<spi::HubPurged> purge_dead(const spi::HubPurge& request) override;

 private:
  [[nodiscard]] const Statement& deliveries_by(const spi::DeliveryFilter& filter) const;
  Result<std::set<DeliveryId>> make_next(Session& session, std::span<const DeliveryRecord> dead,
                                         const std::optional<std::string>& tenant,
                                         std::span<const AuditEvent> audit) const;
  Result<std::vector<spi::Requeued>> requeue_in(Session& session, std::span<const DeliveryId> ids,
                                                const std::optional<std::string>& tenant,
                                                std::span<const AuditEvent> audit) const;

  /// How far a purge has come.
  struct EndedPlace {
    std::optional<WallTime> from{};
    std::uint32_t widened = 1;  ///< pages, while all of one ended at the same time
  };
  struct EventPlace {
    std::uint16_t shard = 0;
    std::int64_t after = 0;
  };
  struct PurgePlaces {
    EndedPlace jobs{};
    EndedPlace deliveries{};
    EventPlace events{};
  };
  Status drop(const Statement& statement, Values values, std::uint64_t& count) const;
  Result<std::vector<std::string>> look_at_ended(const Statement& statement,
                                                 const spi::HubPurge& request, EndedPlace& place,
                                                 spi::HubPurged& purged) const;
  Status purge_jobs(const spi::HubPurge& request, spi::HubPurged& purged);
  Status purge_deliveries(const spi::HubPurge& request, spi::HubPurged& purged);
  Status purge_events(const spi::HubPurge& request, spi::HubPurged& purged);
  Status purge_secrets(const spi::HubPurge& request, spi::HubPurged& purged) const;

  const HubParts& parts_;
  const HubAdminStatements statements_;
  std::mutex purge_mutex_;
  PurgePlaces purge_places_;
};

}  // namespace sagabox::sql
