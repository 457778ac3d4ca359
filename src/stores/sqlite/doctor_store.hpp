#pragma once

#include "stores/sqlite/context.hpp"

#include <sagabox/spi/doctor_store.hpp>

#include <vector>

namespace sagabox::sqlite {

/// The schema, the indexes, and the file itself.
class SqliteDoctor final : public spi::DoctorStore {
 public:
  explicit SqliteDoctor(Context& context) : context_(context) {}

  Result<std::vector<TableName>> tables() override;
  Result<Sequence> last_sequence(const TableName& table) override;
  Result<bool> is_current() override;
  Result<std::vector<spi::Finding>> findings() override;

 private:
  Context& context_;
};

}  // namespace sagabox::sqlite
