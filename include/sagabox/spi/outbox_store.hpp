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

/// Priorities have a lane each, read by sequence. Retried and delayed rows leave for the waiting
/// lane, read by time.
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
  bool retrying = false;  ///< waiting rows: it failed before, and did not merely wait for its time
  /// Null when the row could not be decoded; `decode_error` says why.
  std::shared_ptr<const Message> message;
  std::string decode_error{};
};

/// Rows of one shard and lane with a sequence above `after`, ascending.
struct Range {
  Shard shard{};
  Lane lane{};
  Sequence after{};
  std::uint32_t rows_max = 0;
  /// With `Capabilities::claims`: what other shards have and nobody has claimed, too.
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

/// A key whose head waits for a retry: the key's later messages must not overtake it.
struct RetryingKey {
  std::uint64_t key_hash = 0;  ///< as `Message::key_hash` has it: of tenant and key
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
  park,   ///< quarantined, its sequence kept
  /// `attempts` as they stand before or during a dispatch, or again as they stood when it did not
  /// come to one; stays where it is. With an empty `error` the row's code and error stay.
  attempt,
};

/// What becomes of one row. Absolute, so that it may be repeated.
struct Settlement {
  Sequence sequence{};
  Shard shard{};
  MessageId id;
  Verdict verdict = Verdict::done;
  std::uint32_t attempts = 0;
  Duration delay{};            ///< from the database's now
  TargetsDone targets_done{};  ///< retried ones keep it
  Code code = Code::unknown_internal;
  std::string error{};  ///< already cut and cleaned
  /// Dead ones: the code and error of the last attempt stay where the row has an error.
  bool keep_last_error = false;
  /// park only: why, as operators see it. If not empty, the store refused the row's own result, and
  /// this settlement depends on as little of the row as possible: its error and history are
  /// dropped.
  std::string note{};
  /// Where to look first: the lane it was read from; nothing: the waiting one, or not known.
  std::optional<Lane> lane{};
};

struct SettleRequest {
  const TableName& table;
  Fencing fencing;  ///< names every shard that `items` name
  std::span<const Settlement> items;
  bool retain_done = true;  ///< done rows are archived, else deleted
};

struct SettleReply {
  struct Part {
    bool held = false;       ///< the fence held: owner and epoch were as said
    std::uint32_t rows = 0;  ///< rows changed; 0 where not held
  };
  std::vector<Part> parts;  ///< one a fence, in their order
  Timeline timeline{};
};

/// What the relay needs of an outbox table. Calls block; safe from any thread. Each has a time
/// limit of the store's own: stopping an outbox waits for the calls that run.
class OutboxStore {
 public:
  virtual ~OutboxStore() = default;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;

  /// Creates what the table needs. Safe to call twice and by two at once.
  virtual Status prepare(const TableName& table) = 0;

  /// At least one row is returned if there is any, else as many as fit into `bytes_max`.
  virtual Result<ReadReply> read(const TableName& table, std::span<const Range> ranges,
                                 std::size_t bytes_max) = 0;
  /// Like `read`, without a horizon; due by the database's clock.
  virtual Result<ReadReply> read_due(const TableName& table, std::span<const DueRange> ranges,
                                     std::size_t bytes_max) = 0;
  /// Rows with a key that wait for a retry (not those merely delayed); asked after a take-over.
  virtual Result<RetryingKeysReply> read_retrying_keys(const TableName& table, Shard shard,
                                                       Sequence after, std::uint32_t rows_max) = 0;
  /// One transaction, or several, one after the other or at once: after an error part of it may be
  /// done. Touches only rows whose fence holds, and locks those ownership rows, so that a stalled
  /// stale settle changes nothing. A failure that spent an attempt enters the row's history, an
  /// earlier one of the same number gives way to it. For every row that dies, `dead_letter` goes to
  /// the audit log in the same transaction.
  virtual Result<SettleReply> settle(const SettleRequest& request) = 0;

  /// Returns when something may have been committed, on `wake`, or after `timeout`. Whoever stops
  /// calls `wake`; no other call can be cut short, hence the time limits.
  virtual void wait(const TableName& table, Duration timeout) = 0;
  virtual void wake(const TableName& table) = 0;
};

}  // namespace sagabox::spi
