#pragma once

#include "stores/postgres/driver/context.hpp"
#include "stores/postgres/outbox/statements.hpp"

#include <sagabox/spi/audit_store.hpp>

#include <span>
#include <vector>

namespace sagabox::postgres {

/// Appends to the audit log within a transaction of somebody else. Whoever appends holds the row
/// that says where the log ends until he commits: take it last.
class AuditChain {
 public:
  explicit AuditChain(const Names& names) : statements_(names) {}
  Result<AuditHead> append(Connection& connection, std::span<const AuditEvent> events) const;
  [[nodiscard]] const AuditStatements& statements() const noexcept { return statements_; }

 private:
  AuditStatements statements_;
};

class PostgresAudit final : public spi::AuditStore {
 public:
  PostgresAudit(Context& context, const AuditChain& chain) : context_(context), chain_(chain) {}

  Result<AuditHead> append(std::span<const AuditEvent> events) override;
  Result<std::vector<AuditEntry>> read(std::uint64_t after, std::uint32_t rows_max) override;
  Result<AuditHead> head() override;

 private:
  Context& context_;
  const AuditChain& chain_;
};

}  // namespace sagabox::postgres
