#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace sagabox::spi {

/// The audit log of a database: dead letters, replays, operator acts. Each entry contains the hash
/// of the previous one, and the end of the log is stored separately, so that changed, removed or
/// reordered entries and a truncated end are detected. Other roles append to it in their own
/// transactions. Calls block; safe from any thread.
class AuditStore {
 public:
  virtual ~AuditStore() = default;
  /// Appends all in one transaction. Returns the new end of the log.
  virtual Result<AuditHead> append(std::span<const AuditEvent> events) = 0;
  virtual Result<std::vector<AuditEntry>> read(std::uint64_t after, std::uint32_t rows_max) = 0;
  virtual Result<AuditHead> head() = 0;
};

}  // namespace sagabox::spi
