#include "crash/hub_judgement.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace sagabox::crash {
namespace {

/// An event and a subscription.
using Place = std::pair<std::string, std::string>;

std::string text_of(const Place& place) { return place.first + " to " + place.second; }

class HubJudge {
 public:
  explicit HubJudge(const HubRun& run) : run_(run) {
    for (const auto& delivery : run_.deliveries) {
      const Place place{delivery.event, delivery.subscription};
      if (!deliveries_.emplace(place, &delivery).second) problem(place, "has two deliveries");
    }
    for (std::size_t at = 0; at < run_.receipts.size(); ++at) {
      const auto& receipt = run_.receipts[at];
      const Place place{receipt.event, receipt.subscription};
      first_receipt_.emplace(place, at);
      if (receipt.success) succeeded_.insert(place);
    }
    for (const auto& event : run_.events) {
      for (const auto& subscription : event.subscriptions) {
        matches_.insert({event.id, subscription});
      }
    }
  }

  std::vector<std::string> judge() && {
    for (const auto& subscription : run_.subscriptions) judge_subscription(subscription);
    for (const auto& [place, delivery] : deliveries_) judge_delivery(place, *delivery);
    for (const auto& [place, at] : first_receipt_) {
      if (!matches_.contains(place)) problem(place, "was received and never committed");
    }
    return std::move(problems_);
  }

 private:
  void problem(const Place& place, std::string_view what) {
    problems_.push_back(text_of(place) + " " + std::string(what));
  }

  void judge_subscription(const JudgedSubscription& subscription) {
    const auto must = subscription.gone ? SubscriptionState::disabled : SubscriptionState::active;
    if (subscription.state != must) {
      problems_.push_back(subscription.id + " is " +
                          std::string(subscription_state_name(subscription.state)) +
                          " and had to be " + std::string(subscription_state_name(must)));
    }
    // A disabled one misses what comes later.
    if (!subscription.gone) {
      for (const auto& event : run_.events) {
        const Place place{event.id, subscription.id};
        if (matches_.contains(place) && !deliveries_.contains(place)) {
          problem(place, "has no delivery");
        }
      }
    }
    if (subscription.keeps_order) judge_order(subscription.id);
  }

  /// A dead delivery may still come late: a worker that was stopped before it sent it goes on when
  /// the next one of the key is already there.
  void judge_order(const std::string& subscription) {
    struct Last {
      std::size_t receipt;
      std::string event;
    };
    std::map<std::string, Last> last_of_key;
    for (const auto& event : run_.events) {
      const Place place{event.id, subscription};
      const auto delivery = deliveries_.find(place);
      const auto receipt = first_receipt_.find(place);
      if (delivery == deliveries_.end() || receipt == first_receipt_.end()) continue;
      if (delivery->second->state != DeliveryState::completed) continue;
      const auto [last, first] =
          last_of_key.try_emplace(event.key, Last{receipt->second, event.id});
      if (first) continue;
      if (receipt->second < last->second.receipt) {
        problem(place,
                "came before " + last->second.event + ", an earlier one of key " + event.key);
      }
      last->second = {std::max(last->second.receipt, receipt->second), event.id};
    }
  }

  void judge_delivery(const Place& place, const JudgedDelivery& delivery) {
    if (!matches_.contains(place)) problem(place, "is a delivery from nowhere");
    if (delivery.generation != 0) problem(place, "is of a generation that nobody asked for");
    if (!has_ended(delivery.state)) {
      problem(place, "is " + std::string(delivery_state_name(delivery.state)));
      return;
    }
    const bool completed = delivery.state == DeliveryState::completed;
    if (completed && !succeeded_.contains(place)) {
      problem(place, "is completed and was never received");
    }
    if (!completed && !delivery.has_snapshot) problem(place, "is dead without a snapshot");
    judge_attempts(place, delivery);
  }

  void judge_attempts(const Place& place, const JudgedDelivery& delivery) {
    std::uint32_t number = 0;
    for (const auto& attempt : delivery.attempts) {
      if (attempt.number != ++number) {
        problem(place, "has a gap before attempt " + std::to_string(attempt.number));
        return;
      }
      const bool last = number == delivery.attempt;
      const auto must = last && delivery.state == DeliveryState::completed ? HubJobState::completed
                                                                           : HubJobState::failed;
      if (attempt.state != must) {
        problem(place, "is " + std::string(delivery_state_name(delivery.state)) + " and attempt " +
                           std::to_string(number) + " of " + std::to_string(delivery.attempt) +
                           " is " + std::string(hub_job_state_name(attempt.state)));
      }
    }
    if (number != delivery.attempt) {
      problem(place, "has " + std::to_string(number) + " attempts and counted " +
                         std::to_string(delivery.attempt));
    }
  }

  const HubRun& run_;
  std::map<Place, const JudgedDelivery*> deliveries_;
  std::map<Place, std::size_t> first_receipt_;
  std::set<Place> succeeded_;
  std::set<Place> matches_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> problems_of(const HubRun& run) { return HubJudge(run).judge(); }

}  // namespace sagabox::crash
