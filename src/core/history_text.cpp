#include "core/history_text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace sagabox {

std::string history_text(std::span<const FailedAttempt> history) {
  boost::json::array entries;
  for (const auto& failure : history) {
    entries.push_back(
        boost::json::object{{"number", failure.number},
                            {"at", failure.at.time_since_epoch().count()},
                            {"code", boost::json::string_view(code_name(failure.code))},
                            {"error", boost::json::string_view(failure.error)}});
  }
  return boost::json::serialize(entries);
}

std::vector<FailedAttempt> history_from_text(std::string_view text) {
  std::vector<FailedAttempt> failures;
  boost::json::error_code broken;
  const auto parsed = boost::json::parse(text, broken);
  if (broken || !parsed.is_array()) return failures;
  for (const auto& entry : parsed.get_array()) {
    if (!entry.is_object()) continue;
    const auto& fields = entry.get_object();
    FailedAttempt failure;
    if (const auto* value = fields.if_contains("number"); value && value->is_int64()) {
      failure.number = static_cast<std::uint32_t>(value->get_int64());
    }
    if (const auto* value = fields.if_contains("at"); value && value->is_int64()) {
      failure.at = WallTime(std::chrono::microseconds(value->get_int64()));
    }
    if (const auto* value = fields.if_contains("code"); value && value->is_string()) {
      failure.code = code_from_name(std::string_view(value->get_string()));
    }
    if (const auto* value = fields.if_contains("error"); value && value->is_string()) {
      failure.error = std::string(value->get_string());
    }
    failures.push_back(std::move(failure));
  }
  return failures;
}

void add_failure(std::vector<FailedAttempt>& history, FailedAttempt failure) {
  std::erase_if(history, [&](const FailedAttempt& old) { return old.number == failure.number; });
  history.push_back(std::move(failure));
  if (history.size() > history_attempts_max) history.erase(history.begin());
}

}  // namespace sagabox
