#pragma once

#include "stores/postgres/driver/context.hpp"

#include <sagabox/spi/doctor_store.hpp>

#include <vector>

namespace sagabox::postgres {

/// The schema, the indexes, the server's settings, and what keeps it from vacuuming.
class PostgresDoctor final : public spi::DoctorStore {
 public:
  explicit PostgresDoctor(Context& context) : context_(context) {}

  Result<std::vector<TableName>> tables() override;
  Result<Sequence> last_sequence(const TableName& table) override;
  Result<bool> is_current() override;
  Result<std::vector<spi::Finding>> findings() override;

 private:
  Context& context_;
};

}  // namespace sagabox::postgres
