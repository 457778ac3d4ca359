#pragma once

#include "stores/postgres/driver/context.hpp"
#include "stores/postgres/operate/admin_store.hpp"
#include "stores/postgres/outbox/statements.hpp"
#include "stores/postgres/wake/wake.hpp"
#include "stores/sql/audit_store.hpp"

#include <sagabox/spi/control_store.hpp>

#include <vector>

namespace sagabox::postgres {

/// Pauses and replay jobs. A batch of a job and its cursor are one transaction, fenced by the
/// ownership of the replay scope.
class PostgresControl final : public spi::ControlStore {
 public:
  PostgresControl(Context& context, const sql::AuditChain& audit, PostgresAdmin& admin, Wake& wake);

  Result<spi::Controls> controls(const TableName& table) override;
  Result<bool> set_pause(const spi::PauseRequest& request) override;
  Result<ReplayJob> create_job(const spi::NewReplayJob& request) override;
  Result<std::vector<ReplayJob>> jobs(const TableName& table) override;
  Result<ReplayJob> change_job(const spi::JobChange& change) override;
  Result<spi::JobAdvanceReply> advance_job(const spi::JobAdvance& request) override;

 private:
  Result<bool> pause_in(Connection& connection, const spi::PauseRequest& request);
  Result<ReplayJob> create_in(Connection& connection, const spi::NewReplayJob& request);
  Result<ReplayJob> change_in(Connection& connection, const spi::JobChange& change);
  Result<spi::JobAdvanceReply> advance_in(Connection& connection, const spi::JobAdvance& request);
  /// The next messages of a job: how many, and the job as it is then.
  Result<spi::JobAdvanceReply> replay_next(Connection& connection, const spi::JobAdvance& request,
                                           const ReplayJob& job);
  Result<ReplayJob> lock_job(Connection& connection, const TableName& table, ReplayJobId job);

  Context& context_;
  const sql::AuditChain& audit_;
  PostgresAdmin& admin_;
  Wake& wake_;
  ControlStatements statements_;
};

}  // namespace sagabox::postgres
