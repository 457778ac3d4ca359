#pragma once

#include <sagabox/audit.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace sagabox::memory {

/// The audit log of one database. Not thread-safe. Entries never change, so copies share them.
class AuditLog {
 public:
  void append(AuditEvent event);
  /// Deletes `first` to `last`, as an attacker with write access to the database could. The head
  /// does not change.
  void remove(std::uint64_t first, std::uint64_t last);
  [[nodiscard]] std::vector<AuditEntry> read(std::uint64_t after, std::uint32_t rows_max) const;
  [[nodiscard]] const AuditHead& head() const noexcept { return head_; }

 private:
  std::vector<std::shared_ptr<const AuditEntry>> entries_;  // ordered by number, from 1
  AuditHead head_;
};

}  // namespace sagabox::memory
