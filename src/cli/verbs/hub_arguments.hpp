#pragma once

#include "cli/verbs/verbs.hpp"

#include <sagabox/hub_admin.hpp>

#include <optional>
#include <string>
#include <vector>

/// The arguments and functions of the hub verbs; see verbs.hpp.
namespace sagabox::cli {

struct EventPublishArguments : OperatorArguments {
  EventOrder order{};
  std::string payload{};               ///< JSON; "-": standard input
  std::string payload_file{};          ///< sent byte by byte
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

/// The settings of a subscription, for `add` and `change`.
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

/// One subscription, and the action on it.
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
  spi::DeliveryFilter filter{};  ///< for dead ones
  std::optional<When> since{};   ///< when they died
  std::optional<When> until{};
  bool all = false;
  std::uint32_t rate_max = 0;
  std::string note{};
};
int run_delivery_requeue(const DeliveryRequeueArguments& arguments);

/// Whether the text has the format of the id of a delivery, which is always generated.
bool looks_like_delivery(std::string_view id) noexcept;
/// Explains the delivery with this id; nullopt if there is none, or no hub.
std::optional<DeliveryExplanation> explanation_of_delivery(Session& session, const MessageId& id);
/// The same for a subscription.
std::optional<DeliveryExplanation> explanation_of_subscription(Session& session,
                                                               const MessageArguments& arguments);
/// Lists the deliveries of the event with this id. Returns false if there is none, or no hub.
bool explained_event(Session& session, const MessageArguments& arguments);

/// These run `dead … --kind delivery`.
int run_dead_deliveries(const ListArguments& arguments);
int run_dead_delivery_show(const MessageArguments& arguments);
int run_replay_deliveries(const MoveArguments& arguments);

}  // namespace sagabox::cli
