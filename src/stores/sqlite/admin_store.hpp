#pragma once

#include "core/same_id.hpp"
#include "stores/sql/audit_store.hpp"
#include "stores/sqlite/context.hpp"
#include "stores/sqlite/counts.hpp"
#include "stores/sqlite/decode.hpp"
#include "stores/sqlite/statements.hpp"

#include <sagabox/spi/outbox_admin_store.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace sagabox::sqlite {

/// How many fit, and the last of them.
struct Extent {
  std::uint64_t rows = 0;
  Sequence last{};
};

/// ?1 to ?10 of the statements that take a filter, which lives as long as the run.
void bind_filter(Run& run, const MessageFilter& filter);
Result<Extent> extent_of(Connection& connection, const AdminStatements& statements,
                         MessageState state, const MessageFilter& filter);

/// The rows that have one id, and the same as they are chosen from.
struct Named {
  std::vector<Decoded> found;
  std::vector<RowOfId> rows;
};
/// Of one tenant, or of all; with their histories.
Result<Named> rows_of_id(Connection& connection, const AdminStatements& statements,
                         const MessageId& id, const std::optional<std::string>& tenant);

/// What operators see and do. An act is one transaction, its audit events included.
class SqliteAdmin final : public spi::OutboxAdminStore {
 public:
  SqliteAdmin(Context& context, const sql::AuditChain& audit) : context_(context), audit_(audit) {}

  Result<spi::TableStats> stats(const TableName& table) override;
  Result<spi::ListReply> list(const spi::ListRequest& request) override;
  Result<std::optional<MessageRecord>> find(const spi::FindRequest& request) override;
  Result<std::uint64_t> count(const TableName& table, MessageState state,
                              const MessageFilter& filter) override;
  Result<spi::MoveReply> move(const spi::MoveRequest& request) override;
  Result<spi::PurgeReply> purge(const spi::PurgeRequest& request) override;
  Result<std::vector<spi::Stray>> strays(const TableName& table, std::uint32_t rows_max) override;

  /// An ended message becomes pending under a new sequence. The caller counts. False: one of its
  /// tenant and id is pending, and it stays as it is.
  Result<bool> replay(Connection& connection, const TableName& table, MessageState from,
                      Sequence sequence);

 private:
  Result<spi::MoveReply> move_in(Connection& connection, const spi::MoveRequest& request);
  Result<spi::PurgeReply> purge_in(Connection& connection, const spi::PurgeRequest& request);
  /// False: see `replay`.
  Result<bool> move_row(Connection& connection, const spi::MoveRequest& request,
                        const MessageRecord& record);
  Status quarantine(Connection& connection, const spi::MoveRequest& request,
                    const MessageRecord& record);
  Status release(Connection& connection, const spi::MoveRequest& request,
                 const MessageRecord& record);

  Context& context_;
  const sql::AuditChain& audit_;
  PerTable<AdminStatements> statements_;
};

}  // namespace sagabox::sqlite
