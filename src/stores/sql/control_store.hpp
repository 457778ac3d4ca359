#pragma once

#include "stores/sql/audit_store.hpp"
#include "stores/sql/replay.hpp"
#include "stores/sql/session.hpp"

#include <sagabox/spi/control_store.hpp>

#include <vector>

namespace sagabox::sql {

struct ControlStatements {
  explicit ControlStatements(Sections& sections);

  Statement pauses;
  Statement pause;
  Statement resume;
  Statement create_job;
  Statement jobs;
  Statement lock_job;
  Statement change_job;
  Statement advance_job;
  Statement hold;  ///< a row if the fence holds, until the transaction ends
};

/// Pauses and replay jobs. A batch of a job and its cursor are one transaction, fenced by the
/// ownership of the replay scope.
class ControlStore final : public spi::ControlStore {
 public:
  ControlStore(Sections& sections, OperatorParts parts)
      : parts_(std::move(parts)), statements_(sections) {}

  Result<spi::Controls> controls(const TableName& table) override;
  Result<bool> set_pause(const spi::PauseRequest& request) override;
  Result<ReplayJob> create_job(const spi::NewReplayJob& request) override;
  Result<std::vector<ReplayJob>> jobs(const TableName& table) override;
  Result<ReplayJob> change_job(const spi::JobChange& change) override;
  Result<spi::JobAdvanceReply> advance_job(const spi::JobAdvance& request) override;

 private:
  Result<bool> pause_in(Session& session, const spi::PauseRequest& request);
  Result<ReplayJob> create_in(Session& session, const spi::NewReplayJob& request);
  Result<ReplayJob> change_in(Session& session, const spi::JobChange& change);
  Result<spi::JobAdvanceReply> advance_in(Session& session, const spi::JobAdvance& request);
  /// Replays the next messages of a job: returns how many, and the job afterwards.
  Result<spi::JobAdvanceReply> replay_next(Session& session, const spi::JobAdvance& request,
                                           const ReplayJob& job);
  Result<ReplayJob> lock_job(Session& session, const TableName& table, ReplayJobId job);
  Status audit(Session& session, const AuditEvent& event);

  OperatorParts parts_;
  ControlStatements statements_;
};

}  // namespace sagabox::sql
