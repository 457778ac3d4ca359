#pragma once

#include <sagabox/hub_admin.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::cli {

/// The operations of the hub verbs on a store, or on a daemon; see `HubAdmin`. Calls block.
class HubOperations {
 public:
  virtual ~HubOperations() = default;
  virtual Result<Published> publish(const EventOrder& order) = 0;
  virtual Result<EventPage> events(const EventQuery& query) = 0;
  virtual Result<std::optional<EventView>> event(const EventId& id, Admin::PayloadToo payload) = 0;

  virtual Result<CreatedSubscription> create(const SubscriptionOrder& order) = 0;
  virtual Result<SubscriptionPage> subscriptions(const SubscriptionQuery& query) = 0;
  virtual Result<std::optional<SubscriptionView>> subscription(const SubscriptionId& id,
                                                               Admin::PayloadToo payload) = 0;
  virtual Result<SubscriptionView> change(const SubscriptionChange& change) = 0;
  virtual Result<SubscriptionView> act(const SubscriptionId& id, SubscriptionAct act,
                                       const std::string& note) = 0;
  virtual Result<Verified> verify(const SubscriptionId& id, HubAdmin::Proof proof) = 0;
  virtual Result<ProbeReport> ping(const SubscriptionId& id) = 0;
  virtual Result<NewSecret> rotate_secret(const SubscriptionId& id, Duration overlap) = 0;
  /// On a store itself only.
  virtual Result<ResealReport> reseal(bool dry_run,
                                      const std::function<void(const ResealReport&)>& progress) = 0;
  virtual Result<std::optional<SubscriptionHealth>> health(const SubscriptionId& id,
                                                           Duration since) = 0;

  virtual Result<DeliveryPage> deliveries(const DeliveryQuery& query) = 0;
  virtual Result<std::vector<spi::DeliveryCount>> count() = 0;
  /// Of a daemon those that its readiness does not tell.
  virtual Result<std::vector<spi::Finding>> findings() = 0;
  virtual Result<std::optional<DeliveryView>> delivery(const DeliveryId& id,
                                                       Admin::PayloadToo payload) = 0;
  virtual Result<std::optional<DeliveryExplanation>> explain(const DeliveryId& id) = 0;
  virtual Result<std::optional<DeliveryExplanation>> explain(const SubscriptionId& id) = 0;
  virtual Result<std::vector<spi::Requeued>> requeue(std::span<const DeliveryId> ids,
                                                     const std::string& note) = 0;
};

}  // namespace sagabox::cli
