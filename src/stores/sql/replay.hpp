#pragma once

#include "stores/sql/audit_store.hpp"
#include "stores/sql/session.hpp"

#include <sagabox/records.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sagabox::sql {

/// Checks whether an outbox exists.
class KnownOutbox {
 public:
  explicit KnownOutbox(Sections& sections) : statement_(sections.take("outbox_known")) {}

  /// $1 is the outbox. If it exists, returns one row: how often pending messages were taken away.
  [[nodiscard]] const Statement& statement() const noexcept { return statement_; }
  /// CONFIG.INVALID if it does not exist.
  Status check(Session& session, const TableName& table) const;
  static Error no_table(const TableName& table);

 private:
  Statement statement_;
};

/// The number of messages that match a filter, and the last sequence of them.
struct Extent {
  std::uint64_t rows = 0;
  Sequence last{};
};

struct ReplayStatements {
  template <class Call>
  void each(Call&& call) {
    call(extent_pending, "extent_pending");
    call(extent_ended, "extent_ended");
    call(extent_done, "extent_done");
    call(next_ended, "next_ended");
    call(next_done, "next_done");
    call(replay, "replay");
  }

  Statement extent_pending;
  Statement extent_ended;  ///< dead and quarantined
  Statement extent_done;
  Statement next_ended;  ///< of a replay job
  Statement next_done;
  Statement replay;
};

/// The first ten values of the statements that take a filter.
Values filter_values(const MessageFilter& filter);
std::vector<std::int64_t> numbers_of(std::span<const Sequence> sequences);
/// The sequences in an answer that has one for each row.
std::vector<Sequence> sequences_of(const Rows& rows);
/// The statement for this state: dead and quarantined messages share a table.
const Statement& of_state(MessageState state, const Statement& pending, const Statement& ended,
                          const Statement& done);

/// Finds messages that match a filter, and replays them.
class Replay {
 public:
  explicit Replay(Sections& sections) : statements_(sections) {}

  Result<Extent> extent(Session& session, const TableName& table, MessageState state,
                        const MessageFilter& filter);
  /// The messages a job takes next, at most `rows_max`, and whether they are the last ones.
  struct Next {
    std::vector<Sequence> sequences;
    bool exhausted = true;
  };
  Result<Next> next(Session& session, const TableName& table, const ReplayJob& job,
                    std::uint32_t rows_max);
  /// Ended messages become pending under new sequences. Returns those that did; a message whose
  /// tenant and id are pending is not changed.
  Result<std::vector<Sequence>> replay(Session& session, const TableName& table,
                                       std::span<const Sequence> sequences, WallTime now,
                                       bool as_new);

 private:
  PerTable<ReplayStatements> statements_;
};

/// Dependencies shared by the roles of operators.
struct OperatorParts {
  Sessions& sessions;
  const AuditChain& audit;
  Replay& replay;
  const KnownOutbox& known;
  /// Wakes the readers of an outbox.
  std::function<void(const TableName&)> notify;
};

}  // namespace sagabox::sql
