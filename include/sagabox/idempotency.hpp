#pragma once

#include <sagabox/idempotency_record.hpp>
#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/store.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>

/// A request that is repeated is executed once.
///
/// Which form to use (docs/idempotency.md has the whole table):
///
/// - The work is in the same database as the record: `Transaction::inbox().first_time(…)`. The key
///   and the work are committed or rolled back together. Only this form guarantees that the work is
///   done exactly once.
/// - The work is elsewhere, or the caller wants the first answer again: a `Guard`. It prevents two
///   callers from working at the same time and stores the result of the work. If the holder died or
///   lost its lease before it reported the result, the guard cannot know whether the work was done:
///   after the lease has expired, one caller does the work again. Work that must not be repeated in
///   this case needs an idempotency key at the remote side; pass the ticket or the key for this.
namespace sagabox {

struct GuardOptions {
  /// The name of the handler. Two consumers of one message need different names.
  std::string consumer{};
  /// Another caller may take over from a holder that has not renewed its lease for this time. The
  /// lease is renewed while the work runs.
  Duration lease = std::chrono::seconds(15);
  /// 0: a third of the lease.
  Duration renew_interval{};
  /// How long a result is remembered, counted from when the request was let through. At least as
  /// long as callers may repeat a request: of a message, its outbox's retention. Repetitions do
  /// not prolong it.
  Duration ttl = std::chrono::hours(24);
  /// If a result is longer, only its digest is kept, or `GuardedResult::if_too_large`.
  std::size_t result_bytes_max = 4096;
  /// Whether an error of the work is final and kept; other errors release the key. By default an
  /// error is final unless `is_retry_safe` returns true.
  std::function<bool(const Error&)> is_final = [](const Error& error) {
    return !is_retry_safe(error.code);
  };
  /// False: leases are renewed only by calls of `renew_due`.
  bool renews_itself = true;

  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();
};

/// The result of the work.
struct GuardedResult {
  std::string bytes{};
  /// Stored instead of `bytes` if these are too long.
  std::optional<std::string> if_too_large{};
};

/// The result of a request, from this call or from the first one.
struct Guarded {
  /// Exactly the bytes that the work returned the first time. If that result was too long, a replay
  /// has `if_too_large`, or nullopt if that was not given.
  std::optional<std::string> result{};
  Digest digest{};  ///< of the whole result
  bool replayed = false;
};

class Guard;

/// The right to work on a request; its lease is renewed until the object ends. If it is destroyed
/// without `finish` or `fail`, another caller is admitted after the lease has expired, as if the
/// holder had died. The guard outlives it. Not thread-safe.
class Held {
 public:
  Held(Held&&) noexcept;
  Held& operator=(Held&&) = delete;
  ~Held();

  /// A new ticket each time the request is admitted; below 2^63.
  [[nodiscard]] IdempotencyTicket ticket() const noexcept;
  [[nodiscard]] const IdempotencyKey& key() const noexcept;
  /// How often the request was admitted, including this time.
  [[nodiscard]] std::uint32_t attempt() const noexcept;
  /// Stop is requested when the lease was lost: another caller may work on the request, so the work
  /// must stop.
  [[nodiscard]] std::stop_token stop_token() const;

  /// TX.LEASE_LOST: another caller was admitted in the meantime; nothing was stored. After any
  /// other error it is not known whether the result was stored; the key has this result, or is free
  /// after the lease has expired.
  Result<Guarded> finish(GuardedResult result);
  /// Stores the error, or releases the key, as `GuardOptions::is_final` decides.
  Status fail(const Error& error);

 private:
  friend class Guard;
  struct Holding;
  Held(Guard& guard, std::shared_ptr<Holding> holding);
  Guard* guard_;
  std::shared_ptr<Holding> holding_;
};

/// Admits each request of one consumer once. Thread-safe.
class Guard {
 public:
  /// Called with the token of `Held::stop_token`. An exception counts as TX.HANDLER_FAILED.
  using Work = std::function<Result<GuardedResult>(std::stop_token)>;
  using Entered = std::variant<Guarded, Held>;

  /// CONFIG.INVALID for invalid options, and for a store without idempotency records. The tables
  /// must exist: call `store.idempotency()->prepare()`, or `sagabox migrate up`. The store outlives
  /// the guard.
  static Result<std::unique_ptr<Guard>> create(Store& store, GuardOptions options);
  /// Requires that no `Held` exists and no `run` is active.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// Runs `work` unless this request was made before; then the first result is returned.
  /// `request_hash`, the `sha256` of the request, detects different requests with the same key.
  ///
  /// - TX.IDEMPOTENT_BUSY: another caller works on it; try again shortly.
  /// - TX.IDEMPOTENT_LAST_FAILED: it failed before, with a final error.
  /// - TX.IDEMPOTENT_MISMATCH: the key was used for another request.
  /// - TX.LEASE_LOST: `work` ran, but too long without a renewal, and another caller may have run
  ///   it too.
  /// - An error of `work` is returned unchanged.
  /// - An error of the store. Before `work`: nothing was done. After it: `work` was done, but its
  ///   result may not be stored; the request may be admitted again after the lease has expired.
  Result<Guarded> run(const std::string& tenant, const std::string& key, const Digest& request_hash,
                      const Work& work);

  /// The first half of `run`, for work that ends elsewhere: returns the stored result, or the right
  /// to work.
  Result<Entered> enter(const std::string& tenant, const std::string& key,
                        const Digest& request_hash);

  /// Renews the leases that are due and requests stop for those that were lost. The guard's own
  /// thread does this; call it only if `renews_itself` is false.
  Status renew_due();

 private:
  friend class Held;
  struct Parts;
  explicit Guard(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sagabox
