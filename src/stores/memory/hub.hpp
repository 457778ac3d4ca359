#pragma once

#include "stores/memory/hub_rows.hpp"

#include <sagabox/spi/event_writer.hpp>
#include <sagabox/stores/memory.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::memory {

class Database;
struct OpenTransaction;

/// The events of one database, for those who publish and for the router.
class HubEvents final : public spi::EventStore {
 public:
  explicit HubEvents(Database& database) : database_(database) {}
  [[nodiscard]] spi::Capabilities capabilities() const override;
  Status prepare() override { return {}; }
  Result<spi::RoutingReply> read(std::span<const spi::FeedRange> ranges, std::size_t bytes_max,
                                 std::uint64_t subscriptions_after) override;
  Result<std::vector<spi::RoutingPosition>> positions(std::span<const Shard> shards) override;
  Result<std::vector<bool>> move(const spi::Fencing& fencing,
                                 std::span<const spi::RoutingPosition> positions) override;
  void wait(Duration timeout) override;
  void wake() override;

  /// For `Transaction::events()`.
  Result<std::vector<Published>> publish(OpenTransaction& transaction,
                                         std::span<const HubEvent> events);

 private:
  Result<std::optional<Published>> repeated(const OpenTransaction& transaction,
                                            const HubEvent& event) const;
  Database& database_;
};

/// Its subscriptions and their secrets.
class HubSubscriptions final : public spi::SubscriptionStore {
 public:
  explicit HubSubscriptions(Database& database) : database_(database) {}
  Result<bool> write(const SubscriptionRecord& record, std::span<const AuditEvent> audit) override;
  Result<std::optional<SubscriptionRecord>> get(const SubscriptionId& id) override;
  Result<std::vector<SubscriptionRecord>> list(const spi::SubscriptionList& request) override;
  Result<Count> count(std::string_view tenant) override;
  Result<std::uint32_t> add_secret(const SubscriptionId& id, std::string_view sealed,
                                   Duration overlap, std::span<const AuditEvent> audit) override;
  Result<std::vector<SecretsOf>> secrets(std::span<const SubscriptionId> ids) override;
  Result<std::uint64_t> reseal(std::span<const ResealedSecret> secrets) override;

 private:
  Database& database_;
};

/// Its deliveries.
class HubDeliveries final : public spi::DeliveryStore {
 public:
  explicit HubDeliveries(Database& database) : database_(database) {}
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
  void wait(Duration timeout) override;
  void wake() override;

 private:
  Database& database_;
};

/// Its jobs.
class HubJobs final : public spi::JobStore {
 public:
  explicit HubJobs(Database& database) : database_(database) {}
  Result<std::vector<spi::LeasedJob>> lease(std::string_view worker, const LeaseToken& token,
                                            Duration lease, std::uint32_t rows_max,
                                            std::size_t bytes_max) override;
  Result<std::vector<bool>> finish(const LeaseToken& token,
                                   std::span<const spi::FinishedJob> jobs) override;
  Result<ResetReply> reset(std::uint32_t rows_max) override;
  void wait(Duration timeout) override;
  void wake() override;

 private:
  Database& database_;
};

/// What operators see and do.
class HubAdmin final : public spi::HubAdminStore {
 public:
  explicit HubAdmin(Database& database) : database_(database) {}
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
  Database& database_;
};

/// The names of the signals that roles wait for.
inline constexpr std::string_view hub_events_signal = "hub:events";
inline constexpr std::string_view hub_deliveries_signal = "hub:deliveries";
inline constexpr std::string_view hub_jobs_signal = "hub:jobs";

}  // namespace sagabox::memory
