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
  /// From `first` to `last`, as somebody would who can write to the database. The head stays.
  void remove(std::uint64_t first, std::uint64_t last);
  [[nodiscard]] std::vector<AuditEntry> read(std::uint64_t after, std::uint32_t rows_max) const;
  [[nodiscard]] const AuditHead& head() const noexcept { return head_; }

 private:
  std::vector<std::shared_ptr<const AuditEntry>> entries_;  // by number, from 1
  AuditHead head_;
};

}  // namespace sagabox::memory
