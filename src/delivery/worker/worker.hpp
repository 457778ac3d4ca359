#pragma once

#include "delivery/secret_box.hpp"
#include "delivery/store_retry.hpp"
#include "delivery/subscription_book.hpp"
#include "delivery/worker/attempt_spans.hpp"
#include "delivery/worker/targets.hpp"
#include "feed/read_schedule.hpp"
#include "observe/error_metrics.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/job_store.hpp>
#include <sagabox/spi/subscription_store.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::delivery {

/// What a worker works with; all of it outlives the worker, transports included.
struct JobWorkerParts {
  spi::JobStore& jobs;
  spi::SubscriptionStore& secrets;  ///< `secrets` only
  /// Subscriptions with a `change` above this one: `DeliveryStore::subscriptions`.
  std::function<Result<std::vector<SubscriptionRecord>>(std::uint64_t after)> subscriptions;
  const Transports& transports;
  const SecretBox* box = nullptr;  ///< null: subscriptions with secrets get nothing
  UlidSource& ids;                 ///< of leases
  const Clock& clock;
  Metrics& metrics = no_metrics();
  Logger& log = no_log();
  AttemptTracing tracing{};
  /// Called without a lock, by threads of transports, too: a result has come, so that a step is
  /// due.
  std::function<void()> wake = [] {};
  /// Asked without a lock: whether jobs are leased at this time.
  std::function<bool()> may_lease = [] { return true; };
  /// Called with results that have been written.
  std::function<void(std::span<const spi::FinishedJob>)> finished =
      [](std::span<const spi::FinishedJob>) {};
};

struct JobWorkerOptions {
  std::string name = "worker";  ///< of its leases, for people
  /// Leased, sent, or with a result that is not written yet.
  std::uint32_t in_hand_max = 256;
  std::uint32_t lease_rows_max = 256;
  /// The most bytes of payloads of jobs in hand; one job may have more.
  std::size_t in_hand_bytes_max = std::size_t{64} * 1024 * 1024;
  /// Of one write.
  std::uint32_t finish_rows_max = 256;
  /// No request takes longer.
  Duration request_timeout_max = SubscriptionSettings::timeout_max;
  /// Longer than `request_timeout_max` and the margin. 0: than the longest timeout of a
  /// subscription and `lease_spare`.
  Duration lease{};
  Duration lease_spare = std::chrono::seconds(30);
  /// A request is sent only if its lease outlives its deadline by this: the time to write the
  /// result.
  Duration lease_margin = std::chrono::seconds(10);
  Duration poll_interval = std::chrono::milliseconds(100);
  /// How often all subscriptions are read again, as a safety net.
  Duration reread_interval = std::chrono::minutes(5);
};

struct JobWorkerSnapshot {
  std::uint64_t in_hand = 0;    ///< leased, sent, or with a result that is not written
  std::uint64_t bytes = 0;      ///< of payloads of those without a result
  std::uint64_t completed = 0;  ///< attempts since the start, as all below
  std::uint64_t failed = 0;
  std::uint64_t lost = 0;  ///< results whose lease another one had
};

/// Leases jobs, makes one attempt of each, many at a time, and writes what became of them. Never
/// makes an attempt twice: what it cannot make is a failed attempt, and what it loses comes back
/// through the cleaner.
///
/// Has no thread. `step` and `next` belong to one thread; everything else is safe from any thread.
class Worker final {
 public:
  explicit Worker(JobWorkerParts parts, JobWorkerOptions options = {});
  /// What comes of requests under way is dropped: their leases run out.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// One write at most: results of one lease, or a new lease. Or sends what was leased. False:
  /// nothing is due before `next`.
  bool step();
  [[nodiscard]] BootTime next(BootTime now) const;
  /// Jobs may have been made.
  void wake() noexcept { schedule_.wake(); }
  /// Commits were lost: changes of subscriptions are counted anew.
  void timeline_changed() noexcept { rereads_.store(true); }
  /// Leases nothing more; what is under way ends as usual.
  void stop() noexcept { stopped_.store(true); }
  /// Nothing is leased by it, and every result is written.
  [[nodiscard]] bool idle() const;

  [[nodiscard]] JobWorkerSnapshot snapshot() const;

 private:
  /// One call of `lease`: its token, and when it runs out by our count, never too late.
  struct Lease {
    LeaseToken token{};
    BootTime until{};
    Duration longest{};  ///< it was made for requests that take so long
  };
  struct Held {
    spi::LeasedJob leased;
    Lease lease;
    std::unique_ptr<TraceSpan> span{};  ///< null: it has none, or was not sent yet
  };
  /// Where it goes, or the result of an attempt that is not made.
  struct Prepared {
    Held held;
    std::shared_ptr<spi::Transport> transport{};
    spi::Parcel parcel{};
    JobResult refusal{};
  };
  /// Results of one lease.
  struct Unwritten {
    BootTime until{};     ///< what the lease lasts
    bool singly = false;  ///< the store has refused several at once
    std::vector<spi::FinishedJob> jobs{};
  };
  struct Inbox;
  using Secrets = std::map<SubscriptionId, std::vector<spi::SealedSecret>>;

  void take_arrived();
  void ended(const Held& held, JobResult result);
  void log_attempt(const Held& held, const JobResult& result) const;

  bool write_results(BootTime now);
  void apply_finish(const LeaseToken& token, BootTime until, std::vector<spi::FinishedJob> jobs,
                    const Result<std::vector<bool>>& reply, BootTime now);
  bool send_leased(BootTime now);
  Status read_subscriptions(BootTime now);
  [[nodiscard]] Result<Secrets> read_secrets() const;
  [[nodiscard]] std::optional<JobResult> refusal_of(const Held& held,
                                                    const Subscription* subscription,
                                                    BootTime now) const;
  [[nodiscard]] Prepared prepare(Held held, const Secrets& secrets, BootTime now);
  void hand_over(std::vector<Prepared> prepared, BootTime now);
  bool lease_more(BootTime now);

  void failed(std::string_view what, const Error& error, BootTime now);
  [[nodiscard]] Lease new_lease(BootTime now) const;
  [[nodiscard]] Duration timeout_of(const Held& held, const Subscription& subscription,
                                    BootTime now) const;
  [[nodiscard]] bool outlives(const Held& held, BootTime deadline) const {
    return deadline + options_.lease_margin <= held.lease.until;
  }
  [[nodiscard]] std::uint32_t room() const;

  const JobWorkerParts parts_;
  const JobWorkerOptions options_;
  ErrorMetrics errors_;
  Counter& completed_total_;
  Counter& failed_total_;
  Histogram& completed_seconds_;
  Histogram& failed_seconds_;
  const AttemptSpans spans_;
  Targets targets_;
  SubscriptionBook book_;
  BootTime reread_at_{};
  feed::ReadSchedule schedule_;
  StoreRetry retry_;
  bool lease_next_ = false;   ///< results and leases take turns
  std::vector<Held> leased_;  ///< and not sent yet
  std::map<LeaseToken, Unwritten> results_;
  std::shared_ptr<Inbox> inbox_;

  std::atomic<bool> stopped_{false};
  std::atomic<bool> rereads_{false};
  std::atomic<std::uint32_t> in_hand_{0};
  std::atomic<std::size_t> in_hand_bytes_{0};  ///< of payloads; a result has none
  std::atomic<std::uint64_t> completed_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace sagabox::delivery
