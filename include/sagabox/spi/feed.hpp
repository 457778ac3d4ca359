#pragma once

#include <sagabox/id.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <vector>

/// The common parts of the roles that read rows as a feed: a table, or a named part of one, into
/// which any process inserts in its own transactions, and which the owner of a shard reads in
/// order. Feeds are an outbox table (outbox_store.hpp, by lanes and by time as well) and the inbox
/// of a saga definition (saga_store.hpp). A role that reads one has three calls:
///
/// - `read(feed, ranges, bytes_max)` returns a `FeedReply`: as many rows as fit into `bytes_max`,
///   but at least one if there is any. All rows come from one snapshot, that of the horizon.
/// - `wait(feed, timeout)` returns when something may have been committed to the feed, on `wake`,
///   or after `timeout`;
/// - `wake(feed)`.
///
/// A row's sequence is assigned when it is inserted; if transactions are visible, after its
/// transaction was numbered. Deleting rows that are done, or storing the position up to which they
/// are done, is part of the engine's own fenced writes. `src/feed/reader.hpp` decides what to read.
namespace sagabox::spi {

/// How to find rows that commit with a lower sequence than one already read.
enum class LateCommits : std::uint8_t {
  none,     ///< sequence order is commit order
  visible,  ///< reads return the transactions in progress
  window,   ///< the last seconds are read again
};

/// The features of a store, as data.
struct Capabilities {
  LateCommits late_commits = LateCommits::none;
  /// `window`: a transaction is expected to end within this time.
  Duration late_window = std::chrono::seconds(5);
  /// `wait` returns early when another process commits.
  bool notifies = false;
  /// Messages without a key belong to the shard that claims them: a read claims the rows that it
  /// returns for the requested shard, even if their number belongs to another shard, until they are
  /// settled there.
  bool claims = false;
  std::uint16_t shards = 16;
  /// Only one process at a time does the work; others stand by.
  bool one_process = false;
};

/// The transactions that a read could not see: those in progress, and all from `next` on.
struct Horizon {
  std::vector<TransactionId> in_progress;  ///< ascending
  TransactionId next{};
};

/// How many rows of a reply belong to one of the requested ranges.
struct FeedPart {
  std::uint32_t rows = 0;
  bool exhausted = false;  ///< the range contains no more rows
};

/// Rows of all ranges, in the order of the requested ranges.
template <class Row>
struct FeedReply {
  using Part = FeedPart;
  std::vector<Row> rows;
  /// One for each range; fewer than requested if `bytes_max` ended the read (the last part may then
  /// be incomplete).
  std::vector<Part> parts;
  /// Set with `LateCommits::visible`.
  std::optional<Horizon> horizon;
  Timeline timeline{};
};

/// Rows of one shard with a sequence above `after`, ascending.
struct FeedRange {
  Shard shard{};
  Sequence after{};
  std::uint32_t rows_max = 0;
};

}  // namespace sagabox::spi
