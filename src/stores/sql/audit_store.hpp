#pragma once

#include "stores/sql/session.hpp"

#include <sagabox/spi/audit_store.hpp>

#include <span>
#include <string>
#include <vector>

namespace sagabox::sql {

struct AuditStatements {
  explicit AuditStatements(Sections& sections);

  Statement lock_head;  ///< no other transaction appends until this one ends
  Statement head;
  Statement append;
  Statement move_head;
  Statement read;
};

/// Appends to the audit log within the caller's transaction. Appending locks the row with the end
/// of the log until that transaction ends: append last.
class AuditChain {
 public:
  /// `head_table` is named in the error when its row is missing.
  AuditChain(Sections& sections, std::string head_table)
      : statements_(sections), head_table_(std::move(head_table)) {}

  /// Returns the new end of the log.
  Result<AuditHead> append(Session& session, std::span<const AuditEvent> events) const;
  [[nodiscard]] const AuditStatements& statements() const noexcept { return statements_; }

 private:
  AuditStatements statements_;
  std::string head_table_;
};

class AuditStore final : public spi::AuditStore {
 public:
  AuditStore(Sessions& sessions, const AuditChain& chain) : sessions_(sessions), chain_(chain) {}

  Result<AuditHead> append(std::span<const AuditEvent> events) override;
  Result<std::vector<AuditEntry>> read(std::uint64_t after, std::uint32_t rows_max) override;
  Result<AuditHead> head() override;

 private:
  Sessions& sessions_;
  const AuditChain& chain_;
};

}  // namespace sagabox::sql
