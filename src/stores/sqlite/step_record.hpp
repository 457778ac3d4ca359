#pragma once

#include "stores/schema_steps.hpp"
#include "stores/sqlite/connection.hpp"

#include <string>
#include <vector>

namespace sagabox::sqlite {

/// The table in which the steps of one engine are recorded, over a connection that outlives this.
class StepRecord {
 public:
  StepRecord(Connection& connection, const schema::Engine& engine);

  Result<bool> is_there();
  /// Makes it, and adds the column that older versions did not have.
  Status make();
  Status drop();
  /// Empty where the table is not there.
  Result<std::vector<schema::Applied>> read();
  Status add(const schema::Part& part, const std::string& checksum, WallTime now);
  Status remove(const schema::Part& part);

 private:
  Result<bool> has_checksums();

  const std::string table_;
  const Sql count_table_;
  const Sql count_column_;
  const Sql read_;
  const Sql read_without_checksums_;
  const Sql add_;
  const Sql remove_;
  Link link_;
};

}  // namespace sagabox::sqlite
