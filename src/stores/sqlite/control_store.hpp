#pragma once

#include "stores/sqlite/admin_store.hpp"
#include "stores/sqlite/context.hpp"

#include <sagabox/spi/control_store.hpp>

#include <vector>

namespace sagabox::sqlite {

/// Pauses and replay jobs. A batch of a job and its cursor are one transaction, fenced by the
/// ownership of the replay scope.
class SqliteControl final : public spi::ControlStore {
 public:
  SqliteControl(Context& context, const sql::AuditChain& audit, SqliteAdmin& admin)
      : context_(context), audit_(audit), admin_(admin) {}

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
  Result<ReplayJob> job_of(Connection& connection, const TableName& table, ReplayJobId job);
  Status audit(Connection& connection, const AuditEvent& event);

  Context& context_;
  const sql::AuditChain& audit_;
  SqliteAdmin& admin_;
};

}  // namespace sagabox::sqlite
