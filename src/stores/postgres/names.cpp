#include "stores/postgres/names.hpp"

namespace sagabox::postgres {
namespace {

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  out.reserve(text.size());
  for (;;) {
    const auto at = text.find(what);
    out.append(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    out.append(by);
    text.remove_prefix(at + what.size());
  }
}

}  // namespace

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
