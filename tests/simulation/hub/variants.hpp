#pragma once

#include "delivery/orchestrator/orchestrator.hpp"
#include "simulation/hub/world.hpp"

#include <sagabox/spi/delivery_store.hpp>
#include <sagabox/spi/event_store.hpp>
#include <sagabox/spi/job_store.hpp>
#include <sagabox/spi/ownership_store.hpp>
#include <sagabox/store.hpp>

#include <functional>
#include <set>
#include <string>

namespace sagabox::simulation {

/// How this variant decides.
delivery::Decider hub_decider_of(HubVariant variant);

/// What the roles of one process share, and what is to be noticed about their writes.
struct HubWatch {
  HubVariant variant = HubVariant::real;
  HubRoles roles;
  spi::OwnershipStore& ownership;
  UlidSource& ids;
  std::function<void(std::string)> violated;
  std::function<void(std::string)> count;

  /// Whether the fences hold at this moment.
  [[nodiscard]] bool holds(const spi::Fencing& fencing) const;
};

/// Events as one process sees them.
class WatchedEvents final : public spi::EventStore {
 public:
  explicit WatchedEvents(HubWatch& watch) : watch_(watch), store_(watch.roles.events) {}
  [[nodiscard]] spi::Capabilities capabilities() const override { return store_.capabilities(); }
  Status prepare() override { return {}; }
  Result<spi::RoutingReply> read(std::span<const spi::FeedRange> ranges, std::size_t bytes_max,
                                 std::uint64_t subscriptions_after) override;
  Result<std::vector<spi::RoutingPosition>> positions(std::span<const Shard> shards) override {
    return store_.positions(shards);
  }
  Result<std::vector<bool>> move(const spi::Fencing& fencing,
                                 std::span<const spi::RoutingPosition> positions) override;
  void wait(Duration) override {}
  void wake() override {}

 private:
  HubWatch& watch_;
  spi::EventStore& store_;
};

/// Deliveries as one process sees them. Watches that no stale owner changes any.
class WatchedDeliveries final : public spi::DeliveryStore {
 public:
  explicit WatchedDeliveries(HubWatch& watch) : watch_(watch), store_(watch.roles.deliveries) {}
  Result<std::uint64_t> add(std::span<const DeliveryRecord> deliveries) override;
  Result<std::vector<spi::OpenSubscription>> open(Shard shard, const SubscriptionId& after,
                                                  std::uint32_t rows_max) override {
    return store_.open(shard, after, rows_max);
  }
  Result<std::vector<DeliveryRecord>> due(std::span<const spi::PendingPage> pages) override {
    return store_.due(pages);
  }
  Result<std::vector<DeliveryRecord>> in_progress(Shard shard, const DeliveryId& after,
                                                  std::uint32_t rows_max) override {
    return store_.in_progress(shard, after, rows_max);
  }
  Result<BeginReply> begin(const spi::Fencing& fencing,
                           std::span<const spi::AttemptOf> attempts) override;
  Result<ChangeReply> change(const spi::Fencing& fencing,
                             std::span<const spi::DeliveryChange> changes) override;
  Result<std::vector<DeliveryRecord>> doomed(Shard shard, const SubscriptionId& subscription,
                                             std::uint32_t rows_max) override {
    return store_.doomed(shard, subscription, rows_max);
  }
  Result<ChangeReply> end_unsent(const spi::Fencing& fencing,
                                 std::span<const spi::DeliveryChange> changes) override;
  Result<StraysReply> release_strays(const spi::Fencing& fencing,
                                     const spi::WaitingPage& page) override {
    return store_.release_strays(fencing, page);
  }
  Status bury(std::span<const DeliveryId> ids) override { return store_.bury(ids); }
  Status make_jobs(std::span<const JobRecord> jobs) override { return store_.make_jobs(jobs); }
  Result<std::vector<spi::AttemptOf>> without_job(
      std::span<const spi::AttemptOf> attempts) override {
    return store_.without_job(attempts);
  }
  Result<std::vector<spi::EndedJob>> ended(Shard shard, std::uint32_t rows_max) override;
  Status seen(std::span<const spi::AttemptOf> jobs) override { return store_.seen(jobs); }
  Result<DisableReply> disable(const spi::Fencing& fencing, const SubscriptionId& subscription,
                               std::uint64_t change, std::string_view reason,
                               std::span<const AuditEvent> audit) override;
  Result<std::vector<SubscriptionRecord>> subscriptions(std::uint64_t after) override {
    return store_.subscriptions(after);
  }
  Result<std::vector<SubscriptionRecord>> named(std::span<const SubscriptionId> ids) override {
    return store_.named(ids);
  }
  void wait(Duration) override {}
  void wake() override {}

 private:
  void watch_change(const spi::Fencing& fencing, const Result<ChangeReply>& reply, bool held);

  HubWatch& watch_;
  spi::DeliveryStore& store_;
};

/// Jobs as one process sees them.
class WatchedJobs final : public spi::JobStore {
 public:
  explicit WatchedJobs(HubWatch& watch) : watch_(watch), store_(watch.roles.jobs) {}
  Result<std::vector<spi::LeasedJob>> lease(std::string_view worker, const LeaseToken& token,
                                            Duration lease, std::uint32_t rows_max,
                                            std::size_t bytes_max) override {
    return store_.lease(worker, token, lease, rows_max, bytes_max);
  }
  Result<std::vector<bool>> finish(const LeaseToken& token,
                                   std::span<const spi::FinishedJob> jobs) override {
    return store_.finish(token, jobs);
  }
  Result<ResetReply> reset(std::uint32_t rows_max) override;
  void wait(Duration) override {}
  void wake() override {}

 private:
  HubWatch& watch_;
  spi::JobStore& store_;
};

}  // namespace sagabox::simulation
