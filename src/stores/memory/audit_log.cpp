#include "stores/memory/audit_log.hpp"

#include "stores/memory/database.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::memory {

void AuditLog::append(AuditEvent event) {
  auto entry = std::make_shared<const AuditEntry>(chain(head_, std::move(event)));
  head_ = {entry->number, entry->hash};
  entries_.push_back(std::move(entry));
}

void AuditLog::remove(std::uint64_t first, std::uint64_t last) {
  std::erase_if(entries_,
                [&](const auto& entry) { return entry->number >= first && entry->number <= last; });
}

std::vector<AuditEntry> AuditLog::read(std::uint64_t after, std::uint32_t rows_max) const {
  std::vector<AuditEntry> entries;
  auto at = std::ranges::upper_bound(entries_, after, {},
                                     [](const auto& entry) { return entry->number; });
  for (; at != entries_.end() && entries.size() < rows_max; ++at) entries.push_back(**at);
  return entries;
}

void Database::remove_audit(std::uint64_t first, std::uint64_t last) {
  const std::lock_guard lock(mutex_);
  state_.audit.remove(first, last);
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
