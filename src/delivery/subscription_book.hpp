#pragma once

#include "delivery/subscription.hpp"

#include <sagabox/hub_record.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::delivery {

/// The subscriptions as of one snapshot, and which of them an event is for. A lookup costs as much
/// as the tenant has subscriptions of the event's type or with wildcards. Not thread-safe.
class SubscriptionBook {
 public:
  using Shared = std::shared_ptr<const Subscription>;

  /// What changed, ascending. Records at or below a change that is known of their subscription are
  /// ignored.
  void apply(std::span<const SubscriptionRecord> changed);
  /// The same of some that were asked for by name: what changed before them may still be to come.
  void add(std::span<const SubscriptionRecord> records);
  /// All that there are: others are forgotten, and a record replaces one with another `change`.
  void replace(std::span<const SubscriptionRecord> all);
  /// The highest change that was applied: where the next read of changes begins.
  [[nodiscard]] std::uint64_t change() const noexcept { return change_; }

  /// Null if it is not known.
  [[nodiscard]] Shared find(const SubscriptionId& id) const;
  /// Of those that take events, and at least the default. One that has become shorter is forgotten
  /// with the next `replace`.
  [[nodiscard]] Duration longest_timeout() const noexcept { return longest_timeout_; }
  /// Those that the event is for, by id: of its tenant and type, active or paused since before it
  /// was published, and with a filter that wants it.
  [[nodiscard]] std::vector<Shared> matching(const HubEvent& event) const;

 private:
  struct OfTenant {
    /// By type without wildcards.
    std::map<std::string, std::map<SubscriptionId, Shared>, std::less<>> exact;
    std::map<SubscriptionId, Shared> wild;
  };
  void take_out(const Subscription& subscription);
  void put_in(const Shared& subscription);

  std::map<SubscriptionId, Shared> all_;
  std::map<std::string, OfTenant, std::less<>> tenants_;
  std::uint64_t change_ = 0;
  Duration longest_timeout_ = SubscriptionSettings{}.timeout;
};

/// The delivery that the router makes: generation 0, with the event's key only where the
/// subscription keeps the order of keys.
DeliveryRecord delivery_of(const HubEvent& event, const Subscription& subscription,
                           std::uint16_t shards);

}  // namespace sagabox::delivery
