#pragma once

#include "cli/hub_operations.hpp"

#include <utility>

namespace sagabox::cli {

/// Works on a store directly.
class StoreHub final : public HubOperations {
 public:
  explicit StoreHub(HubAdmin admin) : admin_(std::move(admin)) {}

  Result<Published> publish(const EventOrder& order) override {
    auto published = admin_.publish(std::span(&order, 1));
    if (!published.ok()) return published.error();
    return published->front();
  }
  Result<EventPage> events(const EventQuery& query) override { return admin_.events(query); }
  Result<std::optional<EventView>> event(const EventId& id, Admin::PayloadToo payload) override {
    return admin_.event(id, payload);
  }

  Result<CreatedSubscription> create(const SubscriptionOrder& order) override {
    return admin_.create(order);
  }
  Result<SubscriptionPage> subscriptions(const SubscriptionQuery& query) override {
    return admin_.subscriptions(query);
  }
  Result<std::optional<SubscriptionView>> subscription(const SubscriptionId& id,
                                                       Admin::PayloadToo payload) override {
    return admin_.subscription(id, payload);
  }
  Result<SubscriptionView> change(const SubscriptionChange& change) override {
    return admin_.change(change);
  }
  Result<SubscriptionView> act(const SubscriptionId& id, SubscriptionAct act,
                               const std::string& note) override {
    return admin_.act(id, act, note);
  }
  Result<Verified> verify(const SubscriptionId& id, HubAdmin::Proof proof) override {
    return admin_.verify(id, proof);
  }
  Result<ProbeReport> ping(const SubscriptionId& id) override { return admin_.ping(id); }
  Result<NewSecret> rotate_secret(const SubscriptionId& id, Duration overlap) override {
    return admin_.rotate_secret(id, overlap);
  }
  Result<ResealReport> reseal(bool dry_run,
                              const std::function<void(const ResealReport&)>& progress) override {
    return admin_.reseal(dry_run, progress);
  }
  Result<std::optional<SubscriptionHealth>> health(const SubscriptionId& id,
                                                   Duration since) override {
    return admin_.health(id, since);
  }

  Result<DeliveryPage> deliveries(const DeliveryQuery& query) override {
    return admin_.deliveries(query);
  }
  Result<std::vector<spi::DeliveryCount>> count() override { return admin_.count(); }
  Result<std::vector<spi::Finding>> findings() override { return admin_.findings(); }
  Result<std::optional<DeliveryView>> delivery(const DeliveryId& id,
                                               Admin::PayloadToo payload) override {
    return admin_.delivery(id, payload);
  }
  Result<std::optional<DeliveryExplanation>> explain(const DeliveryId& id) override {
    return admin_.explain(id);
  }
  Result<std::optional<DeliveryExplanation>> explain(const SubscriptionId& id) override {
    return admin_.explain(id);
  }
  Result<std::vector<spi::Requeued>> requeue(std::span<const DeliveryId> ids,
                                             const std::string& note) override {
    return admin_.requeue(ids, note);
  }

 private:
  HubAdmin admin_;
};

}  // namespace sagabox::cli
