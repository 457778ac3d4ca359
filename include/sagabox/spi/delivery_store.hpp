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

/// A page of pending deliveries of one subscription, starting after this position.
struct PendingPage {
  Shard shard{};
  SubscriptionId subscription;
  WallTime after_due{};
  Sequence after{};
  std::uint32_t rows_max = 0;
};

/// A page of waiting deliveries of a shard, starting after this position.
struct WaitingPage {
  Shard shard{};
  SubscriptionId subscription{};
  Sequence after{};
  std::uint32_t rows_max = 0;
};

/// A delivery and its present attempt. A change applies only if both match.
struct AttemptOf {
  DeliveryId delivery;
  std::uint32_t attempt = 0;
  friend auto operator<=>(const AttemptOf&, const AttemptOf&) = default;
};

/// The result of the attempt of a delivery in progress.
struct DeliveryChange {
  AttemptOf of;
  DeliveryState state = DeliveryState::completed;  ///< completed, pending, or dead
  std::uint32_t failures = 0;                      ///< the delivery's new value
  WallTime next_attempt_at{};                      ///< of pending
  std::optional<Code> code{};
  std::string error{};
  int status = 0;
};

/// A job that has ended and whose result the owner of its delivery has not processed yet.
struct EndedJob {
  AttemptOf of;
  SubscriptionId subscription;
  JobResult result{};
  WallTime ended_at{};
};

/// The database operations of the router and the orchestrator: the router adds deliveries, and only
/// the owner of a shard changes them. Each call writes one table, apart from ownership, and can be
/// repeated: it inserts rows that do not exist, or changes rows that are in the expected state.
/// Fenced calls return one verdict for each fence; if one does not hold, nothing was written. They
/// change deliveries of the fenced shards only. Calls block for a time that the store limits; safe
/// from any thread. All times are of the database's clock.
class DeliveryStore {
 public:
  virtual ~DeliveryStore() = default;

  /// Inserts deliveries that do not exist yet, identified by event, subscription and generation, as
  /// pending and due at once. Sequences are assigned in the order given. Returns the number of new
  /// ones. Wakes callers of `wait`.
  virtual Result<std::uint64_t> add(std::span<const DeliveryRecord> deliveries) = 0;

  /// Subscriptions with pending deliveries in this shard, ordered by id, after this one. The cost
  /// depends on the number of subscriptions, not of deliveries.
  virtual Result<std::vector<OpenSubscription>> open(Shard shard, const SubscriptionId& after,
                                                     std::uint32_t rows_max) = 0;
  /// Pending deliveries that are due, page by page in the order given, within a page ordered by
  /// (next_attempt_at, sequence). Each page is for a different subscription.
  virtual Result<std::vector<DeliveryRecord>> due(std::span<const PendingPage> pages) = 0;
  /// Deliveries in progress, ordered by id, after this one. Used after a take-over, and to find
  /// those without a job.
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
    std::vector<AttemptOf> changed;  ///< now in that state, by this call or an earlier one
  };
  /// Those in progress at that attempt. When an attempt of one with a key has ended, the first open
  /// one of its key becomes pending if it waits, in the same write. Code, error and status replace
  /// what the delivery had; one that completed has neither code nor error. Call `bury` before for
  /// those that died.
  virtual Result<ChangeReply> change(const Fencing& fencing,
                                     std::span<const DeliveryChange> changes) = 0;
  /// Open deliveries of a disabled subscription that are not in progress, in any order; they must
  /// become dead. Empty unless the stored state of the subscription is disabled, whatever state its
  /// owner has read.
  virtual Result<std::vector<DeliveryRecord>> doomed(Shard shard,
                                                     const SubscriptionId& subscription,
                                                     std::uint32_t rows_max) = 0;
  /// Makes those that are pending or waiting after the given attempt dead, like `change`, if their
  /// subscription is disabled. Call `bury` first.
  virtual Result<ChangeReply> end_unsent(const Fencing& fencing,
                                         std::span<const DeliveryChange> changes) = 0;
  struct StraysReply {
    std::uint64_t released = 0;
    std::optional<WaitingPage> next{};  ///< nullopt: this was the last page
  };
  /// Waiting deliveries of this page whose turn it is, as `begin` sees it, become pending:
  /// what a crash may leave. Looks at `rows_max` at most. Nothing is released, and nothing is
  /// behind it, where the fence does not hold.
  virtual Result<StraysReply> release_strays(const Fencing& fencing, const WaitingPage& page) = 0;

  /// Stores a snapshot of the events of these deliveries, which are about to become dead. Existing
  /// snapshots are left unchanged; a snapshot of a delivery that did not become dead is never
  /// shown.
  virtual Status bury(std::span<const DeliveryId> ids) = 0;

  /// Creates the jobs of these attempts that do not exist yet, as pending. Wakes workers.
  virtual Status make_jobs(std::span<const JobRecord> jobs) = 0;
  /// Returns those of the given attempts that have no job.
  virtual Result<std::vector<AttemptOf>> without_job(std::span<const AttemptOf> attempts) = 0;
  /// Jobs of this shard that have ended and are not marked as seen, oldest first.
  virtual Result<std::vector<EndedJob>> ended(Shard shard, std::uint32_t rows_max) = 0;
  /// Marks jobs as seen: their results are in their deliveries, or no delivery is at that attempt
  /// any more. A job whose delivery is in progress at that attempt is not changed.
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
