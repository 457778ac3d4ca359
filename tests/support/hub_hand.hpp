#pragma once

#include "spi/hub_rules.hpp"

#include <sagabox/store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::testing {

/// Publishes and subscribes on the hub of a store, and does an orchestrator's work step by step.
class HubHand {
 public:
  HubHand(Store& store, const Clock& clock, Random& random)
      : store_(store), clock_(clock), ids_(clock, random), roles_(store.hub().value()) {
    EXPECT_TRUE(roles_.events.prepare().ok());
    owner_ = own("hub:deliveries", deliveries_);
  }

  HubRoles& roles() { return roles_; }
  UlidSource& ids() { return ids_; }
  [[nodiscard]] std::uint16_t shards() const { return roles_.events.capabilities().shards; }

  /// Takes every free shard, under a new name.
  WorkerId own(const spi::Scope& scope, std::vector<spi::OwnedShard>& taken) {
    const auto owner = ids_.next<WorkerId>();
    const std::vector<spi::Scope> scopes{scope};
    EXPECT_TRUE(store_.ownership().join(owner, std::chrono::hours(24), scopes, shards()).ok());
    taken = store_.ownership().take(scope, owner, shards()).value();
    return owner;
  }

  /// In a transaction of its own, which is committed.
  HubEvent publish(NewMessage draft, std::string source = {}) {
    draft.tenant = draft.tenant == tenant_default ? "acme" : draft.tenant;
    HubEvent event;
    event.id = draft.id.empty() ? ids_.next<EventId>() : EventId::parse(draft.id).value();
    event.message = Message::build_shared(std::move(draft), {}, ids_, clock_).value();
    event.source = std::move(source);
    const auto published = store_.transaction([&](OwnedTransaction& transaction) {
      return transaction.events().publish(std::span(&event, 1));
    });
    EXPECT_TRUE(published.ok());
    return event;
  }
  HubEvent publish(const std::string& key = {}) {
    return publish({.topic = "shop.order.placed.v1", .key = key, .payload = json(R"({"n":1})")});
  }

  /// Stores the next version of this record; by default it is of `acme` and for all types.
  SubscriptionRecord subscribe(SubscriptionRecord record) {
    if (record.tenant.empty()) record.tenant = "acme";
    if (record.types.empty()) record.types = {"**"};
    if (record.target.empty()) record.target = "http://hooks/" + record.id.str();
    ++record.version;
    EXPECT_TRUE(roles_.subscriptions.write(record, {}).value());
    return roles_.subscriptions.get(record.id).value().value();
  }
  SubscriptionRecord subscribe(std::string_view id, std::string settings = {},
                               std::string target = {}) {
    return subscribe({.id = SubscriptionId::parse(id).value(),
                      .state = SubscriptionState::active,
                      .target = std::move(target),
                      .settings = std::move(settings)});
  }

  /// All deliveries, by sequence.
  std::vector<DeliveryRecord> deliveries() {
    auto all = roles_.admin.deliveries({.rows_max = 1000}).value();
    std::ranges::reverse(all);
    return all;
  }
  JobRecord attempt(const DeliveryId& delivery, std::uint32_t number = 1) {
    const auto all = roles_.admin.attempts(delivery).value();
    EXPECT_GE(all.size(), number);
    return all.size() < number ? JobRecord{} : all[number - 1];
  }

  /// Begins the due deliveries and makes their jobs; returns how many.
  std::size_t make_jobs() {
    std::vector<spi::AttemptOf> attempts;
    std::vector<JobRecord> jobs;
    for (const auto& delivery : deliveries()) {
      if (delivery.state != DeliveryState::pending) continue;
      attempts.push_back({delivery.id, delivery.attempt + 1});
      JobRecord job;
      job.delivery = delivery.id;
      job.attempt = delivery.attempt + 1;
      job.shard = delivery.shard;
      job.subscription = delivery.subscription;
      jobs.push_back(std::move(job));
    }
    const auto begun = roles_.deliveries.begin(fencing(), attempts).value().begun;
    std::erase_if(jobs, [&](const JobRecord& job) {
      return std::ranges::find(begun, spi::AttemptOf{job.delivery, job.attempt}) == begun.end();
    });
    EXPECT_TRUE(roles_.deliveries.make_jobs(jobs).ok());
    return jobs.size();
  }
  /// Jobs that ended and that no orchestrator has processed.
  std::vector<spi::EndedJob> ended() {
    std::vector<spi::EndedJob> all;
    for (std::uint16_t shard = 0; shard < shards(); ++shard) {
      auto some = roles_.deliveries.ended(Shard{shard}, 1000).value();
      std::ranges::move(some, std::back_inserter(all));
    }
    return all;
  }
  /// Completed deliveries are marked completed; failed ones are pending again, at once.
  void apply_results() {
    std::vector<spi::DeliveryChange> changes;
    std::vector<spi::AttemptOf> seen;
    for (const auto& job : ended()) {
      spi::DeliveryChange change;
      change.of = job.of;
      change.state = job.result.completed ? DeliveryState::completed : DeliveryState::pending;
      change.next_attempt_at = clock_.wall_now();
      change.code = job.result.code;
      change.error = job.result.error;
      change.status = job.result.status;
      changes.push_back(std::move(change));
      seen.push_back(job.of);
    }
    EXPECT_TRUE(roles_.deliveries.change(fencing(), changes).ok());
    EXPECT_TRUE(roles_.deliveries.seen(seen).ok());
  }

 private:
  spi::Fencing fencing() {
    fences_.clear();
    for (const auto& shard : deliveries_) fences_.push_back({shard.shard, shard.epoch});
    return {"hub:deliveries", owner_, fences_};
  }

  Store& store_;
  const Clock& clock_;
  UlidSource ids_;
  HubRoles roles_;
  std::vector<spi::OwnedShard> deliveries_;
  std::vector<spi::Fence> fences_;
  WorkerId owner_{};
};

}  // namespace sagabox::testing
