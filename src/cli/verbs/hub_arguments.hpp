#pragma once

#include "cli/verbs/verbs.hpp"

#include <sagabox/hub_admin.hpp>

#include <optional>
#include <string>
#include <vector>

/// What the verbs of the delivery hub are told, and what they do; see verbs.hpp.
namespace sagabox::cli {

struct EventPublishArguments : OperatorArguments {
  EventOrder order{};
  std::string payload{};               ///< JSON; "-": standard input
  std::string payload_file{};          ///< its bytes as they are
  std::vector<std::string> headers{};  ///< NAME:VALUE
};
int run_event_publish(const EventPublishArguments& arguments);

struct EventListArguments : OperatorArguments {
  EventQuery query{.rows_max = 20};
  std::optional<When> since{};
  std::optional<When> until{};
};
int run_event_list(const EventListArguments& arguments);

struct EventShowArguments : OperatorArguments {
  EventId id{};
  bool payload = false;
};
int run_event_show(const EventShowArguments& arguments);

/// What a subscription says, for `add` and `change`.
struct SubscriptionSettingsArguments {
  std::string settings{};              ///< JSON; "-": standard input
  std::string filter{};                ///< JSON
  std::string order{};                 ///< any or key
  std::string mode{};                  ///< binary or structured
  std::vector<std::string> headers{};  ///< NAME:VALUE
};

struct SubscriptionAddArguments : OperatorArguments {
  SubscriptionOrder order{};
  SubscriptionSettingsArguments settings{};
  bool no_proof = false;
};
int run_subscription_add(const SubscriptionAddArguments& arguments);

struct SubscriptionChangeArguments : OperatorArguments {
  SubscriptionChange change{};
  std::vector<std::string> types{};
  SubscriptionSettingsArguments settings{};
  bool no_proof = false;
};
int run_subscription_change(const SubscriptionChangeArguments& arguments);

struct SubscriptionListArguments : OperatorArguments {
  SubscriptionQuery query{.rows_max = 20};
};
int run_subscription_list(const SubscriptionListArguments& arguments);

/// One subscription, and what is done to it.
struct SubscriptionArguments : OperatorArguments {
  ActArguments act{};
  SubscriptionId id{};
  bool payload = false;
  SubscriptionAct what = SubscriptionAct::pause;
  std::string note{};
  bool no_proof = false;
  Duration overlap = HubAdmin::overlap_default;
  Duration since = HubAdmin::health_since_default;
};
int run_subscription_show(const SubscriptionArguments& arguments);
int run_subscription_act(const SubscriptionArguments& arguments);
int run_subscription_verify(const SubscriptionArguments& arguments);
int run_subscription_ping(const SubscriptionArguments& arguments);
int run_subscription_rotate(const SubscriptionArguments& arguments);
int run_subscription_health(const SubscriptionArguments& arguments);

struct DeliveryListArguments : OperatorArguments {
  DeliveryQuery query{.rows_max = 20};
  std::optional<When> since{};
  std::optional<When> until{};
};
int run_delivery_list(const DeliveryListArguments& arguments);
int run_delivery_count(const DeliveryListArguments& arguments);

struct DeliveryShowArguments : OperatorArguments {
  DeliveryId id{};
  bool payload = false;
};
int run_delivery_show(const DeliveryShowArguments& arguments);
int run_delivery_explain(const DeliveryShowArguments& arguments);

struct DeliveryRequeueArguments : OperatorArguments {
  ActArguments act{};
  std::vector<DeliveryId> ids{};
  spi::DeliveryFilter filter{};  ///< of dead ones
  std::optional<When> since{};   ///< they died
  std::optional<When> until{};
  bool all = false;
  std::uint32_t rate_max = 0;
  std::string note{};
};
int run_delivery_requeue(const DeliveryRequeueArguments& arguments);

/// Whether the text can be the id of a delivery, which no one chooses.
bool looks_like_delivery(std::string_view id) noexcept;
/// Explains the delivery of this id; null: there is none, or no hub.
std::optional<DeliveryExplanation> explanation_of_delivery(Session& session, const MessageId& id);
/// The same of a subscription.
std::optional<DeliveryExplanation> explanation_of_subscription(Session& session,
                                                               const MessageArguments& arguments);
/// Lists the deliveries of the event of this id. False: there is none, or no hub.
bool explained_event(Session& session, const MessageArguments& arguments);

/// These run `dead … --kind delivery`.
int run_dead_deliveries(const ListArguments& arguments);
int run_dead_delivery_show(const MessageArguments& arguments);
int run_replay_deliveries(const MoveArguments& arguments);

}  // namespace sagabox::cli
