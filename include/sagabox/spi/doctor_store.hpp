#pragma once

#include <sagabox/error.hpp>
#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/result.hpp>

#include <string>
#include <vector>

namespace sagabox::spi {

/// Something that an operator should know. An `info` is not a fault.
struct Finding {
  Severity severity = Severity::warning;
  std::string what{};  ///< what is wrong; no payload, no secret
  std::string cure{};  ///< what to do about it
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// Diagnoses a database. Changes nothing. Calls block; safe from any thread.
class DoctorStore {
 public:
  virtual ~DoctorStore() = default;
  /// The existing outboxes, ordered by name; empty if there are none.
  virtual Result<std::vector<TableName>> tables() = 0;
  /// The last assigned sequence, including those of rolled back inserts; 0: none yet. The
  /// difference of two calls is the number of messages written between them.
  virtual Result<Sequence> last_sequence(const TableName& table) = 0;
  /// Whether all schema steps that this version knows are applied. If not, other roles may fail.
  virtual Result<bool> is_current() = 0;
  /// Checks the schema, indexes, the database's settings, and what blocks its cleanup. Works also
  /// if the schema is not current.
  virtual Result<std::vector<Finding>> findings() = 0;
};

}  // namespace sagabox::spi
