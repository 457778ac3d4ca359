#include "stores/memory/audit_log.hpp"

#include "stores/memory/database.hpp"

#include <utility>

namespace sagabox::memory {

void AuditLog::append(AuditEvent event) {
  auto entry = std::make_shared<const AuditEntry>(chain(head_, std::move(event)));
  head_ = {entry->number, entry->hash};
  entries_.push_back(std::move(entry));
}

std::vector<AuditEntry> AuditLog::read(std::uint64_t after, std::uint32_t rows_max) const {
  std::vector<AuditEntry> entries;
  for (auto at = after; at < entries_.size() && entries.size() < rows_max; ++at) {
    entries.push_back(*entries_[at]);
  }
  return entries;
}

Result<AuditHead> Database::append(std::span<const AuditEvent> events) {
  return faulty(Operation::audit, [&]() -> Result<AuditHead> {
    const std::lock_guard lock(mutex_);
    for (const auto& event : events) state_.audit.append(event);
    return state_.audit.head();
  });
}

Result<std::vector<AuditEntry>> Database::read(std::uint64_t after, std::uint32_t rows_max) {
  return faulty(Operation::audit, [&]() -> Result<std::vector<AuditEntry>> {
    const std::lock_guard lock(mutex_);
    return state_.audit.read(after, rows_max);
  });
}

Result<AuditHead> Database::head() {
  return faulty(Operation::audit, [&]() -> Result<AuditHead> {
    const std::lock_guard lock(mutex_);
    return state_.audit.head();
  });
}

}  // namespace sagabox::memory
