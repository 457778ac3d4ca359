#pragma once

#include <sagabox/idempotency_record.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox {

enum class BarrierDirection : std::uint8_t { action, compensation };

/// "action", "compensation".
std::string_view barrier_direction_name(BarrierDirection direction) noexcept;

/// A call of a saga to one of its participants.
struct BarrierCall {
  std::string tenant = "default";
  std::string saga{};
  std::string step{};
  /// Which execution of the step, where a saga runs it several times.
  std::uint32_t round = 0;
  BarrierDirection direction = BarrierDirection::action;
  /// Of the saga; no call of it comes later than this and `retention` after it. What was noted is
  /// kept so long.
  WallTime deadline{};
  Duration retention = std::chrono::hours(24);
};

/// What a participant does with a call.
enum class BarrierAnswer : std::uint8_t {
  run,
  repeated,         ///< done before: skip, and answer that it is done
  too_late,         ///< an action whose compensation came first: skip, and answer that it failed
  nothing_to_undo,  ///< a compensation whose action never ran: skip, and answer that it is done
};
inline constexpr std::size_t barrier_answer_count = 4;

constexpr bool runs(BarrierAnswer answer) noexcept { return answer == BarrierAnswer::run; }
/// "run", "repeated", "too_late", "nothing_to_undo".
std::string_view barrier_answer_name(BarrierAnswer answer) noexcept;

/// The role of a transaction that notes what was done in it: the note and the caller's own rows
/// commit or vanish together, so that the effect on this database happens once. Where another open
/// transaction has the same key, a call waits until that one ends, or fails with STORAGE.CONFLICT
/// where the database does not wait. Owned by the transaction.
class Inbox {
 public:
  virtual ~Inbox() = default;
  /// True: do the work in this transaction. False: it was done before, or earlier in this
  /// transaction; do nothing, and commit: the key is kept for another window from now on. (It is
  /// written anew at most once an hour.)
  virtual Result<bool> first_time(const IdempotencyKey& key) = 0;
  Result<bool> first_time(std::string tenant, std::string consumer, std::string key) {
    return first_time(IdempotencyKey{std::move(tenant), std::move(consumer), std::move(key)});
  }
  /// What to do with a saga's call. Whatever the order of an action, its compensation and their
  /// repetitions, each runs at most once, a compensation only after its action, and an action
  /// never after its compensation.
  virtual Result<BarrierAnswer> barrier(const BarrierCall& call) = 0;

 protected:
  Inbox() = default;
  Inbox(const Inbox&) = default;
  Inbox& operator=(const Inbox&) = default;
};

namespace spi {

/// How long keys are kept unless told otherwise.
inline constexpr Duration inbox_window_default = std::chrono::hours(8 * 24);

/// A repetition renews its key if that was taken or renewed longer ago than this. Keys are
/// therefore up to this much older than the last delivery.
inline constexpr Duration inbox_renewal_interval = std::chrono::hours(1);

struct InboxPurge {
  /// Keys that were taken or renewed longer ago. At least as long as a message may be delivered
  /// again after a delivery, which is the retention of its outbox, and `inbox_renewal_interval`.
  Duration older_than = inbox_window_default;
  std::uint32_t rows_max = 1000;  ///< of keys, and of notes of barriers
};

struct InboxPurgeReply {
  std::uint64_t keys = 0;
  std::uint64_t barriers = 0;  ///< those whose time is over
};

/// The tables behind the `Inbox` of transactions. Calls block; safe from any thread.
class InboxStore {
 public:
  virtual ~InboxStore() = default;
  /// Makes the tables, or brings them up to date; no others than those of the inbox.
  virtual Status prepare() = 0;
  /// Whether there are tables.
  virtual Result<bool> is_made() = 0;
  /// Which of these keys were taken in transactions that have committed.
  virtual Result<std::vector<bool>> taken(std::span<const IdempotencyKey> keys) = 0;
  virtual Result<InboxPurgeReply> purge(const InboxPurge& request) = 0;
};

}  // namespace spi
}  // namespace sagabox
