#pragma once

#include "stores/sqlite/context.hpp"
#include "stores/sqlite/statements.hpp"

#include <sagabox/spi/audit_store.hpp>

#include <span>
#include <vector>

namespace sagabox::sqlite {

/// Appends to the audit log within a transaction of somebody else.
class AuditChain {
 public:
  Result<AuditHead> append(Connection& connection, std::span<const AuditEvent> events) const;
  [[nodiscard]] const AuditStatements& statements() const noexcept { return statements_; }

 private:
  AuditStatements statements_;
};

class SqliteAudit final : public spi::AuditStore {
 public:
  SqliteAudit(Context& context, const AuditChain& chain) : context_(context), chain_(chain) {}

  Result<AuditHead> append(std::span<const AuditEvent> events) override;
  Result<std::vector<AuditEntry>> read(std::uint64_t after, std::uint32_t rows_max) override;
  Result<AuditHead> head() override;

 private:
  Context& context_;
  const AuditChain& chain_;
};

}  // namespace sagabox::sqlite
