#pragma once

#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/feed.hpp>
#include <sagabox/spi/fencing.hpp>
#include <sagabox/time.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::spi {

/// Each priority has a lane, which is read by sequence. Retried and delayed rows move to the
/// waiting lane, which is read by time.
using Lane = Number<struct LaneTag, std::uint8_t>;
inline constexpr std::uint8_t lane_count = 3;
inline Lane lane_of(const Message& message) noexcept {
  return Lane{static_cast<std::uint8_t>(message.has_key() ? Priority::normal : message.priority())};
}

/// A pending message as the store holds it.
struct Row {
  Sequence sequence{};
  Shard shard{};
  MessageId id;
  std::uint32_t attempts = 0;  ///< spent so far
  std::uint32_t replays = 0;
  TargetsDone targets_done{};
  WallTime written_at{};  ///< by the database's clock
  WallTime due{};         ///< waiting rows only
  bool retrying = false;  ///< waiting rows: it waits for a retry, not only for `not_before`
  /// Null if the row could not be decoded; `decode_error` says why.
  std::shared_ptr<const Message> message;
  std::string decode_error{};
};

/// Rows of one shard and lane with a sequence above `after`, ascending.
struct Range {
  Shard shard{};
  Lane lane{};
  Sequence after{};
  std::uint32_t rows_max = 0;
  /// With `Capabilities::claims`: also returns unclaimed rows of other shards.
  bool others_too = false;
};

/// Waiting rows of one shard that are due, by (due, sequence), above `after`.
struct DueRange {
  Shard shard{};
  WallTime after_due{};
  Sequence after{};
  std::uint32_t rows_max = 0;
};

using ReadReply = FeedReply<Row>;

/// A key whose head waits for a retry; later messages of the key must not overtake it.
struct RetryingKey {
  std::uint64_t key_hash = 0;  ///< as in `Message::key_hash`: of tenant and key
  Sequence sequence{};
};

struct RetryingKeysReply {
  std::vector<RetryingKey> keys;  ///< ascending by sequence
  bool exhausted = false;
  Timeline timeline{};
};

enum class Verdict : std::uint8_t {
  done,
  retry,  ///< pending again in the waiting lane, after `delay`
  dead,   ///< moved to the dead letters
  park,   ///< quarantined with its sequence
  /// Stores `attempts`: before or during a dispatch, or the former value if the dispatch did not
  /// take place. The row stays in its place. With an empty `error` the row's code and error stay.
  attempt,
};

/// The new state of one row. Values are absolute, so that a settlement may be repeated.
struct Settlement {
  Sequence sequence{};
  Shard shard{};
  MessageId id;
  Verdict verdict = Verdict::done;
  std::uint32_t attempts = 0;
  Duration delay{};            ///< from the database's present time
  TargetsDone targets_done{};  ///< stored with a retry
  Code code = Code::unknown_internal;
  std::string error{};  ///< already truncated and sanitized
  /// Dead ones: if the row has an error, the code and error of its last attempt stay.
  bool keep_last_error = false;
  /// park only: the reason shown to operators. If not empty, the store refused the row's own
  /// result, and this settlement uses as little of the row as possible: its error and history are
  /// dropped.
  std::string note{};
  /// The lane to search first, the one it was read from; nullopt: the waiting lane, or not known.
  std::optional<Lane> lane{};
};

struct SettleRequest {
  const TableName& table;
  Fencing fencing;  ///< names every shard that `items` name
  std::span<const Settlement> items;
  bool retain_done = true;  ///< true: done rows are archived; false: deleted
};

struct SettleReply {
  struct Part {
    bool held = false;       ///< the fence held: owner and epoch were as given
    std::uint32_t rows = 0;  ///< rows changed; 0 where not held
  };
  std::vector<Part> parts;  ///< one for each fence, in order
  Timeline timeline{};
};

/// The database operations of a relay on an outbox table. Calls block; safe from any thread. The
/// store limits the time of each call, because stopping an outbox waits for running calls.
class OutboxStore {
 public:
  virtual ~OutboxStore() = default;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;

  /// Creates what the table needs. Safe to call repeatedly and concurrently.
  virtual Status prepare(const TableName& table) = 0;

  /// Returns as many rows as fit into `bytes_max`, but at least one if there is any.
  virtual Result<ReadReply> read(const TableName& table, std::span<const Range> ranges,
                                 std::size_t bytes_max) = 0;
  /// Like `read`, without a horizon; due by the database's clock.
  virtual Result<ReadReply> read_due(const TableName& table, std::span<const DueRange> ranges,
                                     std::size_t bytes_max) = 0;
  /// Rows with a key that wait for a retry, without those that are only delayed. Called after a
  /// take-over.
  virtual Result<RetryingKeysReply> read_retrying_keys(const TableName& table, Shard shard,
                                                       Sequence after, std::uint32_t rows_max) = 0;
  /// Uses one or several transactions, sequential or concurrent: after an error, part of the
  /// request may be done. Changes only rows whose fence holds, and locks those ownership rows, so
  /// that a delayed settle of a stale owner changes nothing. A failure that spent an attempt is
  /// added to the row's history and replaces an entry with the same number. For every row that
  /// becomes dead, `dead_letter` is written to the audit log in the same transaction.
  virtual Result<SettleReply> settle(const SettleRequest& request) = 0;

  /// Returns when something may have been committed, on `wake`, or after `timeout`. A relay that
  /// stops calls `wake`. No other call can be interrupted, hence the time limits.
  virtual void wait(const TableName& table, Duration timeout) = 0;
  virtual void wake(const TableName& table) = 0;
};

}  // namespace sagabox::spi
