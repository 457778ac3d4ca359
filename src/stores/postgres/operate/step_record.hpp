#pragma once

#include "stores/postgres/driver/connection.hpp"
#include "stores/postgres/driver/names.hpp"
#include "stores/schema_steps.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sagabox::postgres {

/// The table in which the steps of one engine are recorded, over a connection that outlives this.
class StepRecord {
 public:
  StepRecord(Connection& connection, const Names& names, const schema::Engine& engine)
      : connection_(connection), names_(names), table_(engine.record) {}

  Result<bool> is_there();
  /// Makes it and the schema, and adds the column that older versions did not have.
  Status make();
  Status drop();
  /// Empty where the table is not there.
  Result<std::vector<schema::Applied>> read();
  Status add(const schema::Part& part, const std::string& checksum);
  Status remove(const schema::Part& part);

 private:
  [[nodiscard]] std::string fill(std::string_view sql) const;

  Connection& connection_;
  const Names& names_;
  const std::string table_;
};

}  // namespace sagabox::postgres
