#include "core/ascii.hpp"
#include "core/text.hpp"

#include <sagabox/message.hpp>

#include <algorithm>
#include <array>

namespace sagabox {
namespace {

constexpr std::size_t table_name_length_max = 48;

/// "v1", "v27"; not "v0" or "v01".
bool is_version(std::string_view part) noexcept {
  return part.size() >= 2 && part[0] == 'v' && part[1] != '0' &&
         std::all_of(part.begin() + 1, part.end(), is_digit);
}

}  // namespace

std::string strict_topic_problem(std::string_view topic) {
  constexpr std::size_t parts_wanted = 4;
  const auto problem = [&](std::string_view what) {
    return "topic " + quoted(topic) + ": " + std::string(what) +
           "; it must read <module>.<aggregate>.<event>.vN, for instance orders.order.placed.v1";
  };
  if (topic.size() > MessageRules::topic_length_max) {
    return problem(std::to_string(topic.size()) + " characters, at most " +
                   std::to_string(MessageRules::topic_length_max) + " are allowed");
  }
  const bool allowed = std::all_of(topic.begin(), topic.end(), [](char c) {
    return is_lower(c) || is_digit(c) || c == '.' || c == '-';
  });
  if (!allowed) return problem("only a-z, 0-9, . and - are allowed");
  std::size_t parts = 0;
  for (std::string_view rest = topic;; ++parts) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    if (part.empty()) return problem("part " + std::to_string(parts + 1) + " is empty");
    if (dot == std::string_view::npos) {
      if (parts + 1 != parts_wanted) {
        return problem(std::to_string(parts + 1) + (parts == 0 ? " part" : " parts") +
                       " instead of 4");
      }
      return is_version(part) ? std::string() : problem("the last part is not v1, v2 …");
    }
    rest.remove_prefix(dot + 1);
  }
}

Result<TableName> TableName::parse(std::string_view text) {
  const auto problem = [&](std::string_view what) {
    return Error{Code::schema_validation_failed,
                 "table " + quoted(text) + ": " + std::string(what)};
  };
  if (text.empty()) return problem("empty; give 1 to 48 letters, digits and _");
  const bool allowed = std::all_of(text.begin(), text.end(),
                                   [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
  if (!allowed) return problem("only letters, digits and _ are allowed");
  if (is_digit(text.front())) return problem("must not start with a digit");
  if (text.size() > table_name_length_max) {
    return problem(std::to_string(text.size()) + " characters, at most " +
                   std::to_string(table_name_length_max) + " are allowed");
  }
  TableName name;
  name.text_ = text;
  return name;
}

}  // namespace sagabox
