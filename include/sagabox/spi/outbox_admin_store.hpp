#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/records.hpp>
#include <sagabox/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::spi {

/// Counts of one table, cheap enough to ask every second.
struct TableStats {
  std::uint64_t pending = 0;  ///< waiting ones included
  std::uint64_t waiting = 0;
  std::uint64_t done = 0;  ///< still retained
  std::uint64_t dead = 0;
  std::uint64_t quarantined = 0;
  std::optional<WallTime> oldest_pending;
  /// These are what the database estimates, not counted. An estimate may be far too low after a
  /// crash of its server.
  bool estimated = false;  ///< `pending`
  bool done_estimated = false;
  bool dead_estimated = false;
  WallTime now{};  ///< the database's clock
  /// What keeps the database from clearing up behind us, where it can tell: how long its oldest
  /// transaction is open (none: 0), and how many transactions ago the oldest is that a replication
  /// slot holds on to.
  std::optional<Duration> oldest_transaction{};
  std::optional<std::uint64_t> slot_transactions{};
};

/// Messages of one state that fit the filter, by sequence, above `after`.
struct ListRequest {
  const TableName& table;
  MessageState state = MessageState::dead;
  MessageFilter filter{};
  Sequence after{};
  std::uint32_t rows_max = 100;
  bool with_history = false;
  bool with_payload = false;
};

struct ListReply {
  std::vector<MessageRecord> rows;
  bool exhausted = false;  ///< nothing more fits
};

/// An id is one tenant's: another may have a message of the same id. Where one tenant has several
/// rows with it, the pending one is meant, else the dead or quarantined one, else the delivered
/// one, and the newest of these.
struct FindRequest {
  const TableName& table;
  MessageId id;
  std::optional<std::string> tenant{};  ///< a message of another tenant is not there
  bool with_payload = false;
  std::optional<MessageState> state{};  ///< a row of another state is not there
  std::optional<Sequence> sequence{};   ///< any other row is not there
};

/// What an operator does to messages he names.
enum class Move : std::uint8_t {
  /// dead, quarantined or done → pending: deleted and inserted under a new sequence in the
  /// transaction's own right, attempts 0, due now, error and history cleared, `replays` + 1.
  replay,
  /// pending or dead → quarantined. What a relay has in hand already is still delivered.
  quarantine,
  /// quarantined → pending under its own sequence, attempts 0. It goes to the waiting lane, due
  /// now: a forward read has long passed its place. Its key does not wait for it.
  release,
};

/// Whether a message of this state can be moved so.
[[nodiscard]] constexpr bool allows(Move move, MessageState state) noexcept {
  switch (move) {
    case Move::replay:
      return state != MessageState::pending;
    case Move::quarantine:
      return state == MessageState::pending || state == MessageState::dead;
    case Move::release:
      break;
  }
  return state == MessageState::quarantined;
}

/// What the audit log calls it.
[[nodiscard]] constexpr AuditKind audit_kind(Move move) noexcept {
  if (move == Move::replay) return AuditKind::replayed;
  return move == Move::quarantine ? AuditKind::quarantined : AuditKind::released;
}

struct MoveRequest {
  const TableName& table;
  Move move = Move::replay;
  std::span<const MessageId> ids;
  std::optional<std::string> tenant{};
  std::string actor{};
  std::string note{};
  /// The row that each id stands for, in the order of `ids`; empty: chosen as `FindRequest` says.
  /// If that row is gone, no other row of its id is moved instead.
  std::span<const Sequence> sequences{};
  /// Of a replay: the message gets the header `as_new_header` with its number of replays, in place
  /// of an earlier one. It keeps the header when it is replayed again.
  bool as_new = false;

  /// The sequence that goes with `ids[at]`; nullopt if any row of the id may be meant.
  [[nodiscard]] std::optional<Sequence> sequence(std::size_t at) const {
    return sequences.empty() ? std::nullopt : std::optional(sequences[at]);
  }
};

struct MoveReply {
  struct Item {
    std::optional<MessageState> was{};  ///< nothing: no such message, or `tenants` have it
    bool moved = false;
    /// One could be moved, but another message of its tenant and id is pending. It stays as it is.
    bool id_is_pending = false;
    /// Several tenants have this id and the request names none: nothing was moved. By name.
    std::vector<std::string> tenants{};
  };
  std::vector<Item> items;  ///< one an id
};

/// Deletes what ended longer ago (pending: was written longer ago) by the database's clock.
struct PurgeRequest {
  const TableName& table;
  MessageState state = MessageState::done;
  Duration older_than{};
  std::uint32_t rows_max = 500;
  /// Empty: by the retention, which needs no audit.
  std::string actor{};
};

struct PurgeReply {
  std::uint64_t rows = 0;
  bool more = false;  ///< another call would find some
};

/// A pending row that no reader's predicate covers.
struct Stray {
  Sequence sequence{};
  MessageId id;
  std::string why{};
};

/// What an operator sees of an outbox table and does to its messages. Every act is one
/// transaction, and appends one audit event for each message it changed to the audit log in the
/// same transaction. Calls block; safe from any thread.
class OutboxAdminStore {
 public:
  virtual ~OutboxAdminStore() = default;
  virtual Result<TableStats> stats(const TableName& table) = 0;
  virtual Result<ListReply> list(const ListRequest& request) = 0;
  /// With its history; nothing when it is not there. SCHEMA.VALIDATION_FAILED, naming them, when
  /// several tenants have this id and the request names none.
  virtual Result<std::optional<MessageRecord>> find(const FindRequest& request) = 0;
  virtual Result<std::uint64_t> count(const TableName& table, MessageState state,
                                      const MessageFilter& filter) = 0;
  /// Moves those whose state allows it, and says of each whether it did. One that cannot be moved
  /// is no error for the others.
  virtual Result<MoveReply> move(const MoveRequest& request) = 0;
  /// One batch.
  virtual Result<PurgeReply> purge(const PurgeRequest& request) = 0;
  virtual Result<std::vector<Stray>> strays(const TableName& table, std::uint32_t rows_max) = 0;
};

}  // namespace sagabox::spi
