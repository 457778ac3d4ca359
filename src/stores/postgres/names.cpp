#include "stores/postgres/names.hpp"

#include "core/text.hpp"

namespace sagabox::postgres {
Result<Names> Names::parse(std::string_view schema) {
  auto name = TableName::parse(schema);
  if (!name.ok()) return Error{Code::config_invalid, "schema: " + name.error().message};
  return Names(name->str());
}

std::string Names::fill(std::string_view sql) const { return replaced(sql, "{schema}", schema_); }

std::string Names::fill(std::string_view sql, const TableName& table) const {
  return replaced(fill(sql), "{table}", table.str());
}

}  // namespace sagabox::postgres
