#include "stores/postgres/driver/names.hpp"

#include "core/scopes.hpp"
#include "core/text.hpp"

#include <array>
#include <charconv>

namespace sagabox::postgres {

Result<Names> Names::parse(std::string_view schema) {
  auto name = TableName::parse(schema);
  if (!name.ok()) return Error{Code::config_invalid, "schema: " + name.error().message};
  return Names(name->str());
}

std::string Names::statement(std::string_view what, const TableName& table) const {
  std::array<char, 16> hash{};
  const auto written = std::to_chars(hash.data(), hash.data() + hash.size(),
                                     stable_hash(schema_ + "." + table.str()), 16);
  return "sagabox " + std::string(what) + " " + std::string(hash.data(), written.ptr);
}

std::string Names::fill(std::string_view sql) const { return replaced(sql, "{schema}", schema_); }

std::string Names::fill(std::string_view sql, const TableName& table) const {
  return replaced(replaced(fill(sql), "{table}", table.str()), "{scope}", outbox_scope(table));
}

}  // namespace sagabox::postgres
