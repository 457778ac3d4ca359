#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace sagabox::spi {

/// The audit log of a database: dead letters, replays, operator acts. Each entry carries the hash
/// of the one before, and where the log ends is kept apart from it, so that an edit, a removal,
/// another order or a cut tail is found. Other roles append to it in their own transactions.
/// Calls block; safe from any thread.
class AuditStore {
 public:
  virtual ~AuditStore() = default;
  /// All in one transaction. Returns where the log ends now.
  virtual Result<AuditHead> append(std::span<const AuditEvent> events) = 0;
  virtual Result<std::vector<AuditEntry>> read(std::uint64_t after, std::uint32_t rows_max) = 0;
  virtual Result<AuditHead> head() = 0;
};

}  // namespace sagabox::spi
