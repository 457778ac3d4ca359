#include "saga/json_text.hpp"

#include "core/ascii.hpp"

#include <sagabox/payload.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <charconv>

namespace sagabox::saga {
namespace {

constexpr bool is_json_space(char c) noexcept {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

char char_at(std::string_view json, std::size_t at) noexcept {
  return at < json.size() ? json[at] : '\0';
}

std::string_view inside(std::string_view json_string) {
  return json_string.substr(1, json_string.size() - 2);
}

bool is_escaped(std::string_view json_string) {
  return json_string.find('\\') != std::string_view::npos;
}

bool says(std::string_view json_string, std::string_view name) {
  return is_escaped(json_string) ? unescaped(json_string) == name : inside(json_string) == name;
}

std::optional<std::size_t> member_at(std::string_view json, std::size_t at, std::string_view name) {
  for (at = after_space(json, at + 1); char_at(json, at) == '"';) {
    const auto end = string_end(json, at);
    const auto colon = after_space(json, end);
    const auto value = after_space(json, colon + 1);
    if (says(json.substr(at, end - at), name)) return value;
    const auto next = after_space(json, value_end(json, value));
    if (char_at(json, next) != ',') break;
    at = after_space(json, next + 1);
  }
  return std::nullopt;
}

std::optional<std::size_t> element_at(std::string_view json, std::size_t at,
                                      std::string_view number) {
  std::size_t index = 0;
  const auto* const last = number.data() + number.size();
  const auto read = std::from_chars(number.data(), last, index);
  if (read.ec != std::errc() || read.ptr != last) return std::nullopt;
  at = after_space(json, at + 1);
  if (char_at(json, at) == ']') return std::nullopt;
  for (; index > 0; --index) {
    const auto next = after_space(json, value_end(json, at));
    if (char_at(json, next) != ',') return std::nullopt;
    at = after_space(json, next + 1);
  }
  return at < json.size() ? std::optional(at) : std::nullopt;
}

}  // namespace

std::size_t after_space(std::string_view json, std::size_t at) noexcept {
  while (at < json.size() && is_json_space(json[at])) ++at;
  return at;
}

std::size_t string_end(std::string_view json, std::size_t at) noexcept {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return std::min(at + 1, json.size());
}

std::size_t value_end(std::string_view json, std::size_t at) noexcept {
  if (at >= json.size()) return json.size();
  if (json[at] == '"') return string_end(json, at);
  if (json[at] != '{' && json[at] != '[') {
    const auto end = json.find_first_of(",]} \n\r\t", at);
    return std::min(end, json.size());
  }
  for (std::size_t depth = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      at = string_end(json, at);
      continue;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) break;
  }
  return at;
}

std::optional<std::string_view> json_at(std::string_view json, std::string_view path) {
  std::size_t at = after_space(json, 0);
  while (!path.empty()) {
    const auto dot = path.find('.');
    const auto name = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    std::optional<std::size_t> found;
    if (char_at(json, at) == '{') found = member_at(json, at, name);
    if (char_at(json, at) == '[') found = element_at(json, at, name);
    if (!found) return std::nullopt;
    at = *found;
  }
  if (at >= json.size()) return std::nullopt;
  return json.substr(at, value_end(json, at) - at);
}

std::optional<std::vector<JsonMember>> members_of(std::string_view json) {
  auto at = after_space(json, 0);
  if (char_at(json, at) != '{') return std::nullopt;
  std::vector<JsonMember> members;
  for (at = after_space(json, at + 1); char_at(json, at) == '"';) {
    const auto end = string_end(json, at);
    const auto value = after_space(json, after_space(json, end) + 1);
    const auto value_ends = value_end(json, value);
    members.push_back({unescaped(json.substr(at, end - at)),
                       json.substr(std::min(value, json.size()), value_ends - value)});
    const auto next = after_space(json, value_ends);
    if (char_at(json, next) != ',') break;
    at = after_space(json, next + 1);
  }
  return members;
}

std::optional<std::vector<std::string_view>> elements_of(std::string_view json) {
  auto at = after_space(json, 0);
  if (char_at(json, at) != '[') return std::nullopt;
  std::vector<std::string_view> elements;
  at = after_space(json, at + 1);
  while (at < json.size() && json[at] != ']') {
    const auto end = value_end(json, at);
    elements.push_back(json.substr(at, end - at));
    const auto next = after_space(json, end);
    if (char_at(json, next) != ',') break;
    at = after_space(json, next + 1);
  }
  return elements;
}

std::string unescaped(std::string_view json_string) {
  if (json_string.size() < 2 || json_string.front() != '"') return {};
  if (!is_escaped(json_string)) return std::string(inside(json_string));
  boost::json::error_code broken;
  const auto value = boost::json::parse(json_string, broken);
  if (broken || !value.is_string()) return {};
  return {value.get_string().data(), value.get_string().size()};
}

std::string stored_json_problem(std::string_view json) {
  // Of an output in the body of a saga there are three levels around it.
  constexpr std::size_t depth_max = json_depth_max - 4;
  if (auto problem = json_problem(json); !problem.empty()) return problem;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      at = string_end(json, at);
      continue;
    }
    ++at;
    if (c == '}' || c == ']') --depth;
    if ((c == '{' || c == '[') && ++depth > depth_max) {
      return "nested deeper than " + std::to_string(depth_max) + " levels";
    }
  }
  return {};
}

std::string compact(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = after_space(json, 0); at < json.size(); at = after_space(json, at)) {
    const auto end = json[at] == '"' ? string_end(json, at) : at + 1;
    out.append(json.substr(at, end - at));
    at = end;
  }
  return out;
}

}  // namespace sagabox::saga
