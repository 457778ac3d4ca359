#pragma once

#include "delivery/subscription_book.hpp"

#include <sagabox/store.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::testing {

/// Owns the deliveries of the hub and does the work of router, orchestrator and worker step by
/// step.
class HubScene {
 public:
  explicit HubScene(Store& store) : store_(store), hub_(*store.hub()) {
    EXPECT_TRUE(hub_.events.prepare().ok());
    const std::vector<spi::Scope> scopes{scope_};
    constexpr auto lease = std::chrono::hours(24);
    EXPECT_TRUE(store_.ownership().join(owner_, lease, scopes, shards).ok());
    for (const auto& shard : store_.ownership().take(scope_, owner_, shards).value()) {
      fences_.push_back({shard.shard, shard.epoch});
    }
  }

  /// A new pending delivery of an event to a subscription.
  DeliveryRecord routed(const EventId& event, const SubscriptionId& subscription) {
    const auto stored = hub_.admin.event(event).value().value();
    const delivery::Subscription to(hub_.subscriptions.get(subscription).value().value());
    const auto delivery = delivery::delivery_of(stored, to, shards);
    EXPECT_EQ(hub_.deliveries.add(std::span(&delivery, 1)).value(), 1U);
    return look_at(delivery.id);
  }

  /// Begins its next attempt, with a job that no worker has taken.
  DeliveryRecord begun(const DeliveryId& id) {
    const auto pending = look_at(id);
    const std::array attempts{spi::AttemptOf{id, pending.attempt + 1}};
    EXPECT_EQ(hub_.deliveries.begin(fencing(), attempts).value().begun.size(), 1U);
    auto running = look_at(id);
    JobRecord job;
    job.delivery = id;
    job.attempt = running.attempt;
    job.shard = running.shard;
    job.subscription = running.subscription;
    EXPECT_TRUE(hub_.deliveries.make_jobs(std::array{job}).ok());
    return running;
  }

  /// Leases all jobs to a worker.
  std::size_t leased() {
    return hub_.jobs.lease("worker-1", token_, std::chrono::minutes(1), 1000).value().size();
  }

  /// Records an attempt with this result; the delivery is in the given state afterwards.
  DeliveryRecord attempted(const DeliveryId& id, const JobResult& result, DeliveryState state,
                           WallTime next_attempt_at = {}) {
    const auto running = begun(id);
    leased();
    const spi::AttemptOf of{id, running.attempt};
    const std::array finished{spi::FinishedJob{of, result}};
    EXPECT_TRUE(hub_.jobs.finish(token_, finished).value().at(0));
    if (state == DeliveryState::dead) {
      EXPECT_TRUE(hub_.deliveries.bury(std::array{id}).ok());
    }
    const std::array changes{spi::DeliveryChange{.of = of,
                                                 .state = state,
                                                 .failures = running.failures + 1,
                                                 .next_attempt_at = next_attempt_at,
                                                 .code = result.code,
                                                 .error = result.error,
                                                 .status = result.status}};
    EXPECT_EQ(hub_.deliveries.change(fencing(), changes).value().changed.size(), 1U);
    EXPECT_TRUE(hub_.deliveries.seen(std::array{of}).ok());
    return look_at(id);
  }
  DeliveryRecord completed(const DeliveryId& id) {
    return attempted(id, {.completed = true, .status = 204, .took = std::chrono::milliseconds(40)},
                     DeliveryState::completed);
  }
  DeliveryRecord dead(const DeliveryId& id) {
    return attempted(id, refusal(), DeliveryState::dead);
  }

  static JobResult refusal() {
    return {.code = Code::provider_rejected,
            .error = "422 from hooks.example.com",
            .status = 422,
            .answer = "no such \x1b[31mshop",
            .took = std::chrono::milliseconds(120)};
  }

  DeliveryRecord look_at(const DeliveryId& id) { return hub_.admin.delivery(id).value().value(); }
  HubRoles& hub() { return hub_; }

 private:
  static constexpr std::uint16_t shards = 16;
  [[nodiscard]] spi::Fencing fencing() const { return {scope_, owner_, fences_}; }

  Store& store_;
  HubRoles hub_;
  const std::string scope_ = "hub:deliveries";
  const WorkerId owner_ = WorkerId::parse("hub-a").value();
  const LeaseToken token_ = LeaseToken::parse("t1").value();
  std::vector<spi::Fence> fences_;
};

}  // namespace sagabox::testing
