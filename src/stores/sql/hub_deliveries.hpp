#pragma once

#include "stores/sql/hub_records.hpp"

#include <sagabox/spi/delivery_store.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace sagabox::sql {

struct HubDeliveryStatements {
  explicit HubDeliveryStatements(Sections& sections);

  Statement add;
  Statement open;
  Statement due;
  Statement in_progress;
  Statement begin;
  Statement change;
  Statement doomed;
  Statement end_unsent;
  Statement waiting_page;
  Statement release_strays;
  Statement bury;
  Statement make_jobs;
  Statement without_job;
  Statement ended;
  Statement seen;
  Statement disable;
  Statement changed;
  Statement named;
};

/// The values of `add`.
Values values_of_deliveries(std::span<const DeliveryRecord> deliveries,
                            std::optional<WallTime> now);

/// What the router and the owners of deliveries need, in SQL.
class HubDeliveryStore final : public spi::DeliveryStore {
 public:
  HubDeliveryStore(Sections& sections, const HubParts& parts)
      : parts_(parts), fences_(sections), statements_(sections) {}

  Result<std::uint64_t> add(std::span<const DeliveryRecord> deliveries) override;
  Result<std::vector<spi::OpenSubscription>> open(Shard shard, const SubscriptionId& after,
                                                  std::uint32_t rows_max) override;
  Result<std::vector<DeliveryRecord>> due(std::span<const spi::PendingPage> pages) override;
  Result<std::vector<DeliveryRecord>> in_progress(Shard shard, const DeliveryId& after,
                                                  std::uint32_t rows_max) override;
  Result<BeginReply> begin(const spi::Fencing& fencing,
                           std::span<const spi::AttemptOf> attempts) override;
  Result<ChangeReply> change(const spi::Fencing& fencing,
                             std::span<const spi::DeliveryChange> changes) override;
  Result<std::vector<DeliveryRecord>> doomed(Shard shard, const SubscriptionId& subscription,
                                             std::uint32_t rows_max) override;
  Result<ChangeReply> end_unsent(const spi::Fencing& fencing,
                                 std::span<const spi::DeliveryChange> changes) override;
  Result<StraysReply> release_strays(const spi::Fencing& fencing,
                                     const spi::WaitingPage& page) override;
  Status bury(std::span<const DeliveryId> ids) override;
  Status make_jobs(std::span<const JobRecord> jobs) override;
  Result<std::vector<spi::AttemptOf>> without_job(
      std::span<const spi::AttemptOf> attempts) override;
  Result<std::vector<spi::EndedJob>> ended(Shard shard, std::uint32_t rows_max) override;
  Status seen(std::span<const spi::AttemptOf> jobs) override;
  Result<DisableReply> disable(const spi::Fencing& fencing, const SubscriptionId& subscription,
                               std::uint64_t change, std::string_view reason,
                               std::span<const AuditEvent> audit) override;
  Result<std::vector<SubscriptionRecord>> subscriptions(std::uint64_t after) override;
  Result<std::vector<SubscriptionRecord>> named(std::span<const SubscriptionId> ids) override;
  void wait(Duration timeout) override { parts_.wait(hub_deliveries_feed, timeout); }
  void wake() override { parts_.wake(hub_deliveries_feed); }

 private:
  Result<std::vector<DeliveryRecord>> deliveries(const Statement& statement, Values values);
  Result<ChangeReply> apply(const Statement& statement, const spi::Fencing& fencing,
                            std::span<const spi::DeliveryChange> changes);

  const HubParts& parts_;
  const HubFences fences_;
  const HubDeliveryStatements statements_;
};

}  // namespace sagabox::sql
