#pragma once

#include <sagabox/message.hpp>

#include <string>
#include <string_view>

// The names of scopes, which have one owner for each shard. They are shared by the engines, the
// stores that read their owners, and the views for operators.

namespace sagabox {

inline constexpr std::string_view outbox_scope_prefix = "outbox:";

inline std::string outbox_scope(const TableName& table) {
  return std::string(outbox_scope_prefix) + table.str();
}
inline bool is_outbox_scope(std::string_view scope) {
  return scope.starts_with(outbox_scope_prefix);
}

inline std::string saga_scope(std::string_view definition) {
  return "saga:" + std::string(definition);
}

}  // namespace sagabox
