#pragma once

#include "stores/sql/hub_records.hpp"

#include <sagabox/spi/hub_admin_store.hpp>

#include <span>
#include <string>
#include <vector>

namespace sagabox::sql {

struct HubAdminStatements {
  explicit HubAdminStatements(Sections& sections);

  Statement events;
  Statement event;
  Statement deliveries;
  Statement deliveries_of;     ///< a subscription
  Statement deliveries_in;     ///< a tenant
  Statement deliveries_about;  ///< an event
  Statement delivery;
  Statement attempts;
  Statement dead;
  Statement count;
  Statement health;
  Statement took;
  Statement generations;
  Statement add;
  Statement purge_jobs;
  Statement purge_deliveries;
  Statement purge_events;
  Statement old_dead;
  Statement drop_jobs;
  Statement drop_dead;
  Statement drop_deliveries;
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
  Result<std::vector<spi::DeliveryCount>> count(const std::optional<std::string>& tenant) override;
  Result<spi::EndpointHealth> health(const SubscriptionId& id, Duration since) override;
  Result<std::vector<spi::Requeued>> requeue(std::span<const DeliveryId> ids,
                                             const std::optional<std::string>& tenant,
                                             std::span<const AuditEvent> audit) override;
  Result<spi::HubPurged> purge(const spi::HubPurge& request) override;
  Result<spi::HubPurged> purge_dead(const spi::HubPurge& request) override;

 private:
  Result<std::optional<Duration>> percentile(const SubscriptionId& id, Duration since,
                                             std::uint64_t answered, double part);
  Result<std::vector<spi::Requeued>> requeue_in(Session& session, std::span<const DeliveryId> ids,
                                                const std::optional<std::string>& tenant,
                                                std::span<const AuditEvent> audit) const;

  const HubParts& parts_;
  const HubAdminStatements statements_;
};

}  // namespace sagabox::sql
