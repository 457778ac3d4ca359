#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/hub_record.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/fencing.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::spi {

/// A subscription that has open deliveries in a shard.
struct OpenSubscription {
  SubscriptionId subscription;
  WallTime due{};  ///< of its first pending delivery
};

/// Where a page of pending deliveries of one subscription begins: behind this.
struct PendingPage {
  Shard shard{};
  SubscriptionId subscription;
  WallTime after_due{};
  Sequence after{};
  std::uint32_t rows_max = 0;
};

/// Where a page of waiting deliveries of a shard begins: behind this.
struct WaitingPage {
  Shard shard{};
  SubscriptionId subscription{};
  Sequence after{};
  std::uint32_t rows_max = 0;
};

/// A delivery and the attempt that it is at: what a change of it is conditional on.
struct AttemptOf {
  DeliveryId delivery;
  std::uint32_t attempt = 0;
  friend auto operator<=>(const AttemptOf&, const AttemptOf&) = default;
};

/// How the attempt of a delivery in progress ended it, or did not.
struct DeliveryChange {
  AttemptOf of;
  DeliveryState state = DeliveryState::completed;  ///< completed, pending, or dead
  std::uint32_t failures = 0;                      ///< the delivery's from now on
  WallTime next_attempt_at{};                      ///< of pending
  std::optional<Code> code{};
  std::string error{};
  int status = 0;
};

/// A job that has ended, and what its delivery's owner did not look at yet.
struct EndedJob {
  AttemptOf of;
  SubscriptionId subscription;
  JobResult result{};
  WallTime ended_at{};
};

/// What the router and the orchestrator need of a database: the router adds deliveries, the owner
/// of a shard is the only one to change them. Each call writes one table, ownership aside, and is
/// repeatable: it inserts what is not there, or changes what is as it was expected. Fenced calls
/// return one verdict a fence; where one does not hold, nothing was written. They change deliveries
/// of the fenced shards only. Calls block, each for
/// a time that the store limits; safe from any thread. Times are the database's.
class DeliveryStore {
 public:
  virtual ~DeliveryStore() = default;

  /// Those that are not there yet, pending and due at once. By event, subscription and generation;
  /// they draw their sequences in the order given. Returns how many were new. Wakes whoever waits.
  virtual Result<std::uint64_t> add(std::span<const DeliveryRecord> deliveries) = 0;

  /// Subscriptions with pending deliveries in this shard, by id, after this one. Costs as much as
  /// there are subscriptions, not deliveries.
  virtual Result<std::vector<OpenSubscription>> open(Shard shard, const SubscriptionId& after,
                                                     std::uint32_t rows_max) = 0;
  /// Pending deliveries that are due, page by page in the order given, and in each by
  /// (next_attempt_at, sequence). Each page is of another subscription.
  virtual Result<std::vector<DeliveryRecord>> due(std::span<const PendingPage> pages) = 0;
  /// Deliveries in progress, by id, after this one: after a take-over, and for what has no job.
  virtual Result<std::vector<DeliveryRecord>> in_progress(Shard shard, const DeliveryId& after,
                                                          std::uint32_t rows_max) = 0;

  struct BeginReply {
    std::vector<bool> held;
    std::vector<AttemptOf> begun;    ///< in progress now, or were already at this attempt
    std::vector<AttemptOf> waiting;  ///< another one of their key goes first: they wait now
  };
  /// Pending ones whose attempt is one less become in progress at that attempt. Of a key only the
  /// first open delivery does, and only while no other one is in progress; the others become
  /// `waiting`. A later one may be in progress: one that draws its sequence in a transaction that
  /// commits late is added after it.
  virtual Result<BeginReply> begin(const Fencing& fencing, std::span<const AttemptOf> attempts) = 0;

  struct ChangeReply {
    std::vector<bool> held;
    std::vector<AttemptOf> changed;  ///< in that state now, by this call or one before
  };
  /// Those in progress at that attempt. When an attempt of one with a key has ended, the first open
  /// one of its key becomes pending if it waits, in the same write. Code, error and status replace
  /// what the delivery had; one that completed has neither code nor error. Call `bury` before for
  /// those that died.
  virtual Result<ChangeReply> change(const Fencing& fencing,
                                     std::span<const DeliveryChange> changes) = 0;
  /// Open deliveries of a subscription that are not in progress, in whatever order: they die. None
  /// while it is stored as anything but disabled, whatever its owner has read.
  virtual Result<std::vector<DeliveryRecord>> doomed(Shard shard,
                                                     const SubscriptionId& subscription,
                                                     std::uint32_t rows_max) = 0;
  /// Those of them that are pending or waiting after that attempt die, as `change` says, while
  /// their subscription is disabled. Call `bury` before.
  virtual Result<ChangeReply> end_unsent(const Fencing& fencing,
                                         std::span<const DeliveryChange> changes) = 0;
  struct StraysReply {
    std::uint64_t released = 0;
    std::optional<WaitingPage> next{};  ///< null: there is nothing behind this page
  };
  /// Waiting deliveries of this page whose turn it is, as `begin` sees it, become pending:
  /// what a crash may leave. Looks at `rows_max` at most. Nothing is released, and nothing is
  /// behind it, where the fence does not hold.
  virtual Result<StraysReply> release_strays(const Fencing& fencing, const WaitingPage& page) = 0;

  /// Keeps a snapshot of the events of these deliveries, which are about to die. Snapshots that are
  /// there are left as they are; that of a delivery which did not die after all is never shown.
  virtual Status bury(std::span<const DeliveryId> ids) = 0;

  /// Jobs of these attempts, those that are not there yet, pending from now on. Wakes workers.
  virtual Status make_jobs(std::span<const JobRecord> jobs) = 0;
  /// Attempts that have no job, of those given.
  virtual Result<std::vector<AttemptOf>> without_job(std::span<const AttemptOf> attempts) = 0;
  /// Jobs of this shard that have ended and are not marked as seen, the oldest first.
  virtual Result<std::vector<EndedJob>> ended(Shard shard, std::uint32_t rows_max) = 0;
  /// Their results are in their deliveries, or no delivery is at that attempt any more. Nothing is
  /// changed about one whose delivery is in progress at that attempt.
  virtual Status seen(std::span<const AttemptOf> jobs) = 0;

  struct DisableReply {
    std::vector<bool> held;
    bool disabled = false;
  };
  /// The endpoint said that it is gone, or failed for too long: the only change of a subscription
  /// that an owner may make, and only the owner of the shard of its deliveries. Not disabled: it
  /// was already, is not there, or is not as that `change` left it any more: what failed was
  /// another target, perhaps. `audit` is written in the same transaction if it is disabled.
  virtual Result<DisableReply> disable(const Fencing& fencing, const SubscriptionId& subscription,
                                       std::uint64_t change, std::string_view reason,
                                       std::span<const AuditEvent> audit) = 0;
  /// Those with a `change` above this one, ascending. From 0 those that have been disabled for more
  /// than two days are left out: nobody matches them or has to be told about them.
  virtual Result<std::vector<SubscriptionRecord>> subscriptions(std::uint64_t after) = 0;
  /// Those of these that are there, in any order.
  virtual Result<std::vector<SubscriptionRecord>> named(std::span<const SubscriptionId> ids) = 0;

  /// Returns when a delivery may have been added or a job may have ended, on `wake`, or after
  /// `timeout`.
  virtual void wait(Duration timeout) = 0;
  virtual void wake() = 0;
};

}  // namespace sagabox::spi
