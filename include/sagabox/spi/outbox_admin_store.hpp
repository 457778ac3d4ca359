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

/// Counts of one table, cheap enough to query every second.
struct TableStats {
  std::uint64_t pending = 0;  ///< including waiting ones
  std::uint64_t waiting = 0;
  std::uint64_t done = 0;  ///< within the retention
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

/// Messages of one state that match the filter, ordered by sequence, above `after`.
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
  bool exhausted = false;  ///< no more rows match
};

/// Ids are unique within a tenant: another tenant may have a message with the same id. If a tenant
/// has several rows with it, the pending one is selected, else the dead or quarantined one, else
/// the delivered one, and the newest of these.
struct FindRequest {
  const TableName& table;
  MessageId id;
  std::optional<std::string> tenant{};  ///< messages of other tenants are not found
  bool with_payload = false;
  std::optional<MessageState> state{};  ///< rows in other states are not found
  std::optional<Sequence> sequence{};   ///< other rows are not found
};

/// The acts of an operator on named messages.
enum class Move : std::uint8_t {
  /// dead, quarantined or done → pending: deleted and inserted under a new sequence of this
  /// transaction, attempts 0, due now, error and history cleared, `replays` + 1.
  replay,
  /// pending or dead → quarantined. Messages that a relay has read already are still delivered.
  quarantine,
  /// quarantined → pending under its own sequence, attempts 0. It goes to the waiting lane, due
  /// now, because forward reads are past its sequence. Its key does not wait for it.
  release,
};

/// Whether this move is allowed for a message in this state.
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

/// The kind of its event in the audit log.
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
  /// The row of each id, in the order of `ids`; empty: selected as for `FindRequest`. If that row
  /// does not exist any more, no other row with the id is moved instead.
  std::span<const Sequence> sequences{};
  /// For a replay: the message gets the header `as_new_header` with its number of replays,
  /// replacing an earlier one. It keeps the header when it is replayed again.
  bool as_new = false;

  /// The sequence of `ids[at]`; nullopt if none was given.
  [[nodiscard]] std::optional<Sequence> sequence(std::size_t at) const {
    return sequences.empty() ? std::nullopt : std::optional(sequences[at]);
  }
};

struct MoveReply {
  struct Item {
    std::optional<MessageState> was{};  ///< nullopt: no such message, or `tenants` is not empty
    bool moved = false;
    /// The message was left unchanged because another message of its tenant and id is pending.
    bool id_is_pending = false;
    /// The tenants, by name, if several have this id and the request names none: nothing was moved.
    std::vector<std::string> tenants{};
  };
  std::vector<Item> items;  ///< one for each id
};

/// Deletes messages that ended longer ago (pending: were written longer ago) by the database's
/// clock.
struct PurgeRequest {
  const TableName& table;
  MessageState state = MessageState::done;
  Duration older_than{};
  std::uint32_t rows_max = 500;
  /// Empty: purged by the retention, which is not audited.
  std::string actor{};
};

struct PurgeReply {
  std::uint64_t rows = 0;
  bool more = false;  ///< another call would find more
};

/// A pending row that no read of a relay covers.
struct Stray {
  Sequence sequence{};
  MessageId id;
  std::string why{};
};

/// Queries and acts of operators on an outbox table. Every act is one transaction, which also
/// appends an event to the audit log for each message it changed. Calls block; safe from any
/// thread.
class OutboxAdminStore {
 public:
  virtual ~OutboxAdminStore() = default;
  virtual Result<TableStats> stats(const TableName& table) = 0;
  virtual Result<ListReply> list(const ListRequest& request) = 0;
  /// With its history; nullopt if it does not exist. SCHEMA.VALIDATION_FAILED lists the tenants if
  /// several have this id and the request names none.
  virtual Result<std::optional<MessageRecord>> find(const FindRequest& request) = 0;
  virtual Result<std::uint64_t> count(const TableName& table, MessageState state,
                                      const MessageFilter& filter) = 0;
  /// Moves the messages whose state allows it, and returns the result of each. A message that
  /// cannot be moved does not affect the others.
  virtual Result<MoveReply> move(const MoveRequest& request) = 0;
  /// Deletes one batch.
  virtual Result<PurgeReply> purge(const PurgeRequest& request) = 0;
  virtual Result<std::vector<Stray>> strays(const TableName& table, std::uint32_t rows_max) = 0;
};

}  // namespace sagabox::spi
