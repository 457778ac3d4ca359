#pragma once

#include "cli/hub_operations.hpp"
#include "cli/remote/daemon_client.hpp"

#include <string>

namespace sagabox::cli {

/// Uses a daemon's REST API; the client must outlive it.
class ServerHub final : public HubOperations {
 public:
  explicit ServerHub(DaemonClient& daemon) : daemon_(daemon) {}

  Result<Published> publish(const EventOrder& order) override;
  Result<EventPage> events(const EventQuery& query) override;
  Result<std::optional<EventView>> event(const EventId& id, Admin::PayloadToo payload) override;
  Result<CreatedSubscription> create(const SubscriptionOrder& order) override;
  Result<SubscriptionPage> subscriptions(const SubscriptionQuery& query) override;
  Result<std::optional<SubscriptionView>> subscription(const SubscriptionId& id,
                                                       Admin::PayloadToo payload) override;
  Result<SubscriptionView> change(const SubscriptionChange& change) override;
  Result<SubscriptionView> act(const SubscriptionId& id, SubscriptionAct act,
                               const std::string& note) override;
  Result<Verified> verify(const SubscriptionId& id, HubAdmin::Proof proof) override;
  Result<ProbeReport> ping(const SubscriptionId& id) override;
  Result<NewSecret> rotate_secret(const SubscriptionId& id, Duration overlap) override;
  Result<ResealReport> reseal(bool dry_run,
                              const std::function<void(const ResealReport&)>& progress) override;
  Result<std::optional<SubscriptionHealth>> health(const SubscriptionId& id,
                                                   Duration since) override;
  Result<DeliveryPage> deliveries(const DeliveryQuery& query) override;
  Result<std::vector<spi::DeliveryCount>> count() override;
  Result<std::vector<spi::Finding>> findings() override;
  Result<std::optional<DeliveryView>> delivery(const DeliveryId& id,
                                               Admin::PayloadToo payload) override;
  Result<std::optional<DeliveryExplanation>> explain(const DeliveryId& id) override;
  Result<std::optional<DeliveryExplanation>> explain(const SubscriptionId& id) override;
  Result<std::vector<spi::Requeued>> requeue(std::span<const DeliveryId> ids,
                                             const std::string& note) override;

 private:
  DaemonClient& daemon_;
};

}  // namespace sagabox::cli
