#pragma once

#include "stores/postgres/driver/context.hpp"
#include "stores/postgres/outbox/statements.hpp"
#include "stores/postgres/wake/wake.hpp"
#include "stores/sql/audit_store.hpp"

#include <sagabox/spi/outbox_admin_store.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::postgres {

/// `stats` counts so many of a state; beyond, it tells what the server estimates.
inline constexpr std::int64_t stats_rows_exact = 10'000;

/// How many fit, and the last of them.
struct Extent {
  std::uint64_t rows = 0;
  Sequence last{};
};

/// $1 to $10 of the statements that take a filter.
Params filter_params(const MessageFilter& filter);
Result<Extent> extent_of(Connection& connection, const AdminStatements& statements,
                         MessageState state, const MessageFilter& filter);

/// Rows that a move takes, each once, in the order asked.
struct MovedRows {
  std::vector<Sequence> pending;
  std::vector<Sequence> ended;  ///< dead, quarantined or done
};

/// $1 of the statements that take sequences.
Params sequence_params(std::span<const Sequence> sequences);
/// Of answers that have a sequence a row.
std::vector<Sequence> sequences_of(const Rows& rows);

/// What operators see and do. An act is one transaction, its audit events included.
class PostgresAdmin final : public spi::OutboxAdminStore {
 public:
  PostgresAdmin(Context& context, const sql::AuditChain& audit, Wake& wake);

  Result<spi::TableStats> stats(const TableName& table) override;
  Result<spi::ListReply> list(const spi::ListRequest& request) override;
  Result<std::optional<MessageRecord>> find(const spi::FindRequest& request) override;
  Result<std::uint64_t> count(const TableName& table, MessageState state,
                              const MessageFilter& filter) override;
  Result<spi::MoveReply> move(const spi::MoveRequest& request) override;
  Result<spi::PurgeReply> purge(const spi::PurgeRequest& request) override;
  Result<std::vector<spi::Stray>> strays(const TableName& table, std::uint32_t rows_max) override;

 private:
  Result<Rows> ask(const Statement& statement, const Params& params);
  /// One batch, deleted row by row.
  Result<spi::PurgeReply> purge_rows(const spi::PurgeRequest& request);
  Status audit_purge(Connection& connection, const spi::PurgeRequest& request, const Rows& purged);
  Result<spi::MoveReply> move_in(Connection& connection, const spi::MoveRequest& request);
  /// Which of them were moved.
  Result<std::vector<Sequence>> carry_out(Connection& connection, const spi::MoveRequest& request,
                                          const MovedRows& rows);

  Context& context_;
  const sql::AuditChain& audit_;
  Wake& wake_;
  PerTable<AdminStatements> statements_;
};

}  // namespace sagabox::postgres
