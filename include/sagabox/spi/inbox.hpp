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
  /// The number of the execution, if a saga runs the step several times.
  std::uint32_t round = 0;
  BarrierDirection direction = BarrierDirection::action;
  /// The deadline of the saga. No call comes later than `retention` after it; notes are kept until
  /// then.
  WallTime deadline{};
  Duration retention = std::chrono::hours(24);
};

/// How a participant must handle a call.
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

/// The role of a transaction that records which work it does: the record and the caller's own rows
/// are committed or rolled back together, so that the effect on this database happens once. If
/// another open transaction has inserted the same key, a call waits until that one ends, or fails
/// with STORAGE.CONFLICT if the database does not wait. Owned by the transaction.
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
  /// Decides how to handle a call of a saga. An action and its compensation each run at most once,
  /// a compensation only after its action, and an action never after its compensation, in whatever
  /// order the calls and their repetitions arrive.
  virtual Result<BarrierAnswer> barrier(const BarrierCall& call) = 0;

 protected:
  Inbox() = default;
  Inbox(const Inbox&) = default;
  Inbox& operator=(const Inbox&) = default;
};

namespace spi {

/// How long keys are kept by default.
inline constexpr Duration inbox_window_default = std::chrono::hours(8 * 24);

/// A repetition renews its key if that was taken or renewed longer ago than this. Keys are
/// therefore up to this much older than the last delivery.
inline constexpr Duration inbox_renewal_interval = std::chrono::hours(1);

struct InboxPurge {
  /// Keys that were taken or renewed longer ago. At least as long as a message may be delivered
  /// again after a delivery, which is the retention of its outbox, and `inbox_renewal_interval`.
  Duration older_than = inbox_window_default;
  std::uint32_t rows_max = 1000;  ///< separate limits for keys and for notes of barriers
};

struct InboxPurgeReply {
  std::uint64_t keys = 0;
  std::uint64_t barriers = 0;  ///< expired notes
};

/// The tables behind the `Inbox` of transactions. Calls block; safe from any thread.
class InboxStore {
 public:
  virtual ~InboxStore() = default;
  /// Creates or updates the tables of the inbox, and no others.
  virtual Status prepare() = 0;
  /// Whether the tables exist.
  virtual Result<bool> is_made() = 0;
  /// For each key, whether a committed transaction has inserted it.
  virtual Result<std::vector<bool>> taken(std::span<const IdempotencyKey> keys) = 0;
  virtual Result<InboxPurgeReply> purge(const InboxPurge& request) = 0;
};

}  // namespace spi
}  // namespace sagabox
