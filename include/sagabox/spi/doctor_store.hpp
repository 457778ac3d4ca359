#pragma once

#include <sagabox/error.hpp>
#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/result.hpp>

#include <string>
#include <vector>

namespace sagabox::spi {

/// Something that an operator should know. An `info` is no fault.
struct Finding {
  Severity severity = Severity::warning;
  std::string what{};  ///< what is wrong; no payload, no secret
  std::string cure{};  ///< what to do about it
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// What a database tells of itself. Changes nothing. Calls block; safe from any thread.
class DoctorStore {
 public:
  virtual ~DoctorStore() = default;
  /// The outboxes that were made in it, by name; none where nothing was made yet.
  virtual Result<std::vector<TableName>> tables() = 0;
  /// The last sequence that was given out, also to what was rolled back; 0: none yet. Between two
  /// looks it tells how many were written.
  virtual Result<Sequence> last_sequence(const TableName& table) = 0;
  /// The steps of the schema that this version knows are all there. False: other roles may fail.
  virtual Result<bool> is_current() = 0;
  /// Schema, indexes, the engine's settings, what keeps it from clearing up. Also of a schema that
  /// is not current.
  virtual Result<std::vector<Finding>> findings() = 0;
};

}  // namespace sagabox::spi
