#pragma once

#include <sagabox/spi/delivery_store.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sagabox::testing {

/// Deliveries of another store; what a test changes it overrides.
class DeliveriesThrough : public spi::DeliveryStore {
 public:
  explicit DeliveriesThrough(spi::DeliveryStore& store) : store_(store) {}

  Result<std::uint64_t> add(std::span<const DeliveryRecord> deliveries) override {
    return store_.add(deliveries);
  }
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
                           std::span<const spi::AttemptOf> attempts) override {
    return store_.begin(fencing, attempts);
  }
  Result<ChangeReply> change(const spi::Fencing& fencing,
                             std::span<const spi::DeliveryChange> changes) override {
    return store_.change(fencing, changes);
  }
  Result<std::vector<DeliveryRecord>> doomed(Shard shard, const SubscriptionId& subscription,
                                             std::uint32_t rows_max) override {
    return store_.doomed(shard, subscription, rows_max);
  }
  Result<ChangeReply> end_unsent(const spi::Fencing& fencing,
                                 std::span<const spi::DeliveryChange> changes) override {
    return store_.end_unsent(fencing, changes);
  }
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
  Result<std::vector<spi::EndedJob>> ended(Shard shard, std::uint32_t rows_max) override {
    return store_.ended(shard, rows_max);
  }
  Status seen(std::span<const spi::AttemptOf> jobs) override { return store_.seen(jobs); }
  Result<DisableReply> disable(const spi::Fencing& fencing, const SubscriptionId& subscription,
                               std::uint64_t change, std::string_view reason,
                               std::span<const AuditEvent> audit) override {
    return store_.disable(fencing, subscription, change, reason, audit);
  }
  Result<std::vector<SubscriptionRecord>> subscriptions(std::uint64_t after) override {
    return store_.subscriptions(after);
  }
  Result<std::vector<SubscriptionRecord>> named(std::span<const SubscriptionId> ids) override {
    return store_.named(ids);
  }
  void wait(Duration timeout) override { store_.wait(timeout); }
  void wake() override { store_.wake(); }

 private:
  spi::DeliveryStore& store_;
};

}  // namespace sagabox::testing
