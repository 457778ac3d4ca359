#include "cli/remote/rest_requests.hpp"

#include "core/timestamp.hpp"
#include "server/api/query.hpp"

#include <utility>

namespace sagabox::cli::requests {
Target::Target(const TableName& table, std::string_view below)
    : text_("/v1/tables/" + server::percent_encoded(table.str()) + std::string(below)) {}

Target& Target::add(std::string_view name, std::string_view value) {
  text_ += std::exchange(has_query_, true) ? '&' : '?';
  text_ += std::string(name) + "=" + server::percent_encoded(value);
  return *this;
}

Target& Target::add_filter(MessageState state, const MessageFilter& filter) {
  const auto add_text = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) add(name, *value);
  };
  add("state", state_name(state));
  add_text("tenant", filter.tenant);
  add_text("topic", filter.topic);
  add_text("aggregate_type", filter.aggregate_type);
  add_text("key", filter.key);
  if (filter.code) add("code", code_name(*filter.code));
  if (filter.from) add("from", timestamp_text(*filter.from));
  if (filter.until) add("until", timestamp_text(*filter.until));
  if (filter.first) add("first", filter.first->value);
  if (filter.last) add("last", filter.last->value);
  if (filter.retrying) add("retrying", "true");
  return *this;
}

Target list(const TableName& table, const ListQuery& query) {
  Target target(table, "/messages");
  target.add_filter(query.state, query.filter).add("limit", query.rows_max);
  if (!query.cursor.empty()) target.add("cursor", query.cursor);
  if (query.with_history) target.add("history", "true");
  return target;
}

Target message(const TableName& table, const MessageId& id, std::string_view below) {
  return {table, "/messages/" + server::percent_encoded(id.view()) + std::string(below)};
}

std::string findings_path(const std::string& store) {
  return "/v1/stores/" + server::percent_encoded(store) + "/findings";
}

Target job(const TableName& table, ReplayJobId id, std::string_view below) {
  return {table, "/replays/" + std::to_string(id.value) + std::string(below)};
}

}  // namespace sagabox::cli::requests
