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

/// The same request twice is done once.
///
/// Which form when (docs/idempotency.md has the whole table):
///
/// - The work is in the same database as the record: `Transaction::inbox().first_time(…)`. The key
///   and the work commit or vanish together. This is the only form in which the work is done once
///   for sure.
/// - The work is elsewhere, or the caller wants the first answer again: a `Guard`. It keeps two
///   callers from working at the same time and remembers how the work ended. It cannot know whether
///   work was done whose holder died, or lost its lease, before it said so: after the lease such
///   work is done again, by one caller. Work that must not be repeated then needs a key of its own
///   at the far side; the ticket and the key serve for that.
namespace sagabox {

struct GuardOptions {
  /// Whose work it is: a handler's own name. Two consumers of one message have different ones.
  std::string consumer{};
  /// A holder that is silent for so long is taken over. It is renewed while the work runs.
  Duration lease = std::chrono::seconds(15);
  /// 0: a third of the lease.
  Duration renew_interval{};
  /// How long a result is remembered, counted from when the request was let through. At least as
  /// long as callers may repeat a request: of a message, its outbox's retention. Repetitions do
  /// not prolong it.
  Duration ttl = std::chrono::hours(24);
  /// A longer result is remembered by its digest alone, or by `GuardedResult::if_too_large`.
  std::size_t result_bytes_max = 4096;
  /// Which errors of the work are remembered for good; the others release the key. By default those
  /// that `is_retry_safe` does not let repeat.
  std::function<bool(const Error&)> is_final = [](const Error& error) {
    return !is_retry_safe(error.code);
  };
  /// False: nothing is renewed but by `renew_due`.
  bool renews_itself = true;

  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();
};

/// What the work returned.
struct GuardedResult {
  std::string bytes{};
  /// Remembered in place of `bytes` where these are too long.
  std::optional<std::string> if_too_large{};
};

/// How a request ended, now or when it was made first.
struct Guarded {
  /// Byte for byte what the work returned first. A replay has `if_too_large` where the result was
  /// too long, and nullopt where that was not given.
  std::optional<std::string> result{};
  Digest digest{};  ///< of the whole result
  bool replayed = false;
};

class Guard;

/// The right to work on a request, renewed until it is given up. Dropped without `finish` or
/// `fail`, it is as if its holder had died: somebody else is let through after the lease. The guard
/// outlives it. Not thread-safe.
class Held {
 public:
  Held(Held&&) noexcept;
  Held& operator=(Held&&) = delete;
  ~Held();

  /// Another one whenever the request is let through; below 2^63.
  [[nodiscard]] IdempotencyTicket ticket() const noexcept;
  [[nodiscard]] const IdempotencyKey& key() const noexcept;
  /// How often the request was let through, this time included.
  [[nodiscard]] std::uint32_t attempt() const noexcept;
  /// Set when the lease was lost: somebody else may work on the request. Stop.
  [[nodiscard]] std::stop_token stop_token() const;

  /// TX.LEASE_LOST: somebody else was let through meanwhile; nothing was stored. Another error: it
  /// is not known whether it was stored; the key is free after the lease, or has this result.
  Result<Guarded> finish(GuardedResult result);
  /// Remembers the error, or releases the key: as `GuardOptions::is_final` says.
  Status fail(const Error& error);

 private:
  friend class Guard;
  struct Holding;
  Held(Guard& guard, std::shared_ptr<Holding> holding);
  Guard* guard_;
  std::shared_ptr<Holding> holding_;
};

/// Lets each request of one consumer through once. Thread-safe.
class Guard {
 public:
  /// Runs with the token of `Held::stop_token`. What it throws counts as TX.HANDLER_FAILED.
  using Work = std::function<Result<GuardedResult>(std::stop_token)>;
  using Entered = std::variant<Guarded, Held>;

  /// CONFIG.INVALID for options that do not fit, and for a store that keeps no records of requests.
  /// The tables must be there: `store.idempotency()->prepare()`, or `sagabox migrate up`. The store
  /// outlives the guard.
  static Result<std::unique_ptr<Guard>> create(Store& store, GuardOptions options);
  /// No `Held` is left, and no `run`.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// Runs `work` unless this request was made before; then its first result comes back.
  /// `request_hash` tells requests apart that wrongly have the same key: `sha256` of what was
  /// asked.
  ///
  /// - TX.IDEMPOTENT_BUSY: somebody works on it; try again shortly.
  /// - TX.IDEMPOTENT_LAST_FAILED: it failed for good before.
  /// - TX.IDEMPOTENT_MISMATCH: the key was used for another request.
  /// - TX.LEASE_LOST: `work` ran, but too long without a renewal, and somebody else may have run
  /// it,
  ///   too.
  /// - An error of `work`, as it is.
  /// - An error of the store. Before `work`: nothing was done. After it: `work` was done and that
  /// is
  ///   not remembered for sure; the request may be let through again after the lease.
  Result<Guarded> run(const std::string& tenant, const std::string& key, const Digest& request_hash,
                      const Work& work);

  /// The first half of `run`, for work that ends elsewhere: what is stored, or the right to work.
  Result<Entered> enter(const std::string& tenant, const std::string& key,
                        const Digest& request_hash);

  /// Renews what is due and sets the stop token of what was lost. The guard's own thread does it;
  /// call it where `renews_itself` is false.
  Status renew_due();

 private:
  friend class Held;
  struct Parts;
  explicit Guard(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sagabox
