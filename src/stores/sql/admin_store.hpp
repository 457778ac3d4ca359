#pragma once

#include "stores/sql/audit_store.hpp"
#include "stores/sql/record.hpp"
#include "stores/sql/replay.hpp"
#include "stores/sql/session.hpp"

#include <sagabox/spi/outbox_admin_store.hpp>

#include <optional>
#include <span>
#include <vector>

namespace sagabox::sql {

/// Where counting is expensive, `stats` counts up to this many rows of a state; a larger number is
/// the server's estimate.
inline constexpr std::int64_t stats_rows_exact = 10'000;

/// The operators' statements for an outbox.
struct AdminStatements {
  template <class Call>
  void each(Call&& call) {
    call(stats, "admin_stats");
    call(horizon, "admin_horizon");
    call(list_pending, "list_pending");
    call(list_ended, "list_ended");
    call(list_done, "list_done");
    call(look, "look");
    call(lock_pending, "lock_pending");
    call(lock_ended, "lock_ended");
    call(lock_done, "lock_done");
    call(quarantine_pending, "quarantine_pending");
    call(quarantine_dead, "quarantine_dead");
    call(release, "release");
    call(purge_pending, "purge_pending");
    call(purge_ended, "purge_ended");
    call(purge_done, "purge_done");
    call(strays, "strays");
  }

  Statement stats;
  Statement horizon;
  Statement list_pending;
  Statement list_ended;  ///< dead and quarantined
  Statement list_done;
  Statement look;
  Statement lock_pending;
  Statement lock_ended;
  Statement lock_done;
  Statement quarantine_pending;
  Statement quarantine_dead;
  Statement release;
  Statement purge_pending;
  Statement purge_ended;
  Statement purge_done;
  Statement strays;
};

/// What operators can see and do. An action is one transaction, including its audit events.
class AdminStore : public spi::OutboxAdminStore {
 public:
  AdminStore(Sections& sections, OperatorParts parts)
      : parts_(std::move(parts)), statements_(sections) {}

  Result<spi::TableStats> stats(const TableName& table) override;
  Result<spi::ListReply> list(const spi::ListRequest& request) override;
  Result<std::optional<MessageRecord>> find(const spi::FindRequest& request) override;
  Result<std::uint64_t> count(const TableName& table, MessageState state,
                              const MessageFilter& filter) override;
  Result<spi::MoveReply> move(const spi::MoveRequest& request) override;
  Result<spi::PurgeReply> purge(const spi::PurgeRequest& request) override;
  Result<std::vector<spi::Stray>> strays(const TableName& table, std::uint32_t rows_max) override;

 private:
  /// Rows that a move takes, each once, in the order requested.
  struct MovedRows {
    std::vector<Sequence> pending;
    std::vector<std::string> pending_ids;
    std::vector<Sequence> ended;  ///< dead, quarantined or done
  };

  Result<Rows> read(const Statement& statement, Values values);
  Result<spi::MoveReply> move_in(Session& session, const spi::MoveRequest& request);
  /// Which of them were moved.
  Result<std::vector<Sequence>> carry_out(Session& session, const spi::MoveRequest& request,
                                          const MovedRows& rows, WallTime now);
  Result<spi::PurgeReply> purge_in(Session& session, const spi::PurgeRequest& request);

  OperatorParts parts_;
  PerTable<AdminStatements> statements_;
};

}  // namespace sagabox::sql
