#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/delivery_store.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::spi {

/// A leased job with all data that its attempt needs.
struct LeasedJob {
  JobRecord job;
  DeliveryRecord delivery;  ///< with id and subscription only if it is gone
  HubEvent event;           ///< without a message if it is gone or cannot be decoded
};

struct FinishedJob {
  AttemptOf of;
  JobResult result{};
};

/// The database operations of workers and of the cleaner of leases. They write jobs only.
class JobStore {
 public:
  virtual ~JobStore() = default;

  /// Pending jobs, the oldest first; those that others are leasing at this moment are left out.
  /// `token` is drawn by the caller for this call: it stands for the lease. Jobs whose delivery or
  /// event is gone are leased like others, so that they end. One at least, and more while their
  /// payloads have `bytes_max` together.
  virtual Result<std::vector<LeasedJob>> lease(std::string_view worker, const LeaseToken& token,
                                               Duration lease, std::uint32_t rows_max,
                                               std::size_t bytes_max) = 0;
  Result<std::vector<LeasedJob>> lease(std::string_view worker, const LeaseToken& token,
                                       Duration lease_for, std::uint32_t rows_max) {
    return lease(worker, token, lease_for, rows_max, std::numeric_limits<std::size_t>::max());
  }
  /// One answer a job: whether it still had this lease, or has this result by it already. A lease
  /// that has run out is one until `reset` takes it away.
  virtual Result<std::vector<bool>> finish(const LeaseToken& token,
                                           std::span<const FinishedJob> jobs) = 0;
  /// A lease that `reset` removed, for the log.
  struct LostLease {
    AttemptOf of;
    bool failed = false;  ///< it was reset too often
    std::string worker{};
    SubscriptionId subscription{};
    /// The event of the delivery; empty if the delivery was removed.
    EventId event{};
    std::string tenant{};
    std::string correlation_id{};
    DeliveryState delivery_state = DeliveryState::in_progress;
  };
  struct ResetReply {
    std::uint64_t reset = 0;   ///< pending again
    std::uint64_t failed = 0;  ///< reset too often: failed with TX.LEASE_LOST
    std::vector<LostLease> jobs{};
  };
  /// Resets jobs whose lease has expired, oldest first. After `job_resets_max` expired leases a job
  /// fails.
  virtual Result<ResetReply> reset(std::uint32_t rows_max) = 0;

  /// Returns when a job may have been made, on `wake`, or after `timeout`.
  virtual void wait(Duration timeout) = 0;
  virtual void wake() = 0;
};

}  // namespace sagabox::spi
