#pragma once

#include <sagabox/hub_record.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::crash {

/// An event whose transaction committed.
struct CommittedEvent {
  std::string id{};
  std::string key{};
  std::vector<std::string> subscriptions{};  ///< that match it
};

/// A subscription as it is in the end.
struct JudgedSubscription {
  std::string id{};
  bool keeps_order = false;
  bool gone = false;  ///< its endpoint answered 410: it must be disabled, any other active
  SubscriptionState state = SubscriptionState::active;
};

/// A delivery as it is in the end, with its attempts by number.
struct JudgedDelivery {
  struct Attempt {
    std::uint32_t number = 0;
    HubJobState state = HubJobState::pending;
  };
  std::string id{};
  std::string event{};
  std::string subscription{};
  std::uint32_t generation = 0;
  DeliveryState state = DeliveryState::pending;
  std::uint32_t attempt = 0;
  bool has_snapshot = false;  ///< of its event, among the dead letters
  std::vector<Attempt> attempts{};
};

/// A request that reached an endpoint.
struct Receipt {
  std::string event{};  ///< webhook-id
  std::string subscription{};
  bool success = false;  ///< the answer was 2xx, or may have been
};

struct HubRun {
  std::vector<CommittedEvent> events{};  ///< those of one key in the order of their commits
  std::vector<JudgedSubscription> subscriptions{};
  std::vector<JudgedDelivery> deliveries{};
  std::vector<Receipt> receipts{};  ///< in the order in which they came
};

/// Every event must have one delivery for each subscription that matches it, completed or dead;
/// what is completed was received, of a key in the order of the events. Returns what is not so, a
/// line each.
std::vector<std::string> problems_of(const HubRun& run);

}  // namespace sagabox::crash
