#include "server/api/query.hpp"

#include "core/text.hpp"
#include "core/timestamp.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace sagabox::server {
namespace {

Error wrong_query(std::string message) { return {Code::request_invalid, std::move(message)}; }

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      plain += text[at];
      continue;
    }
    unsigned byte = 0;
    const auto digits = text.substr(at + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) {
      return std::nullopt;
    }
    plain += static_cast<char>(static_cast<unsigned char>(byte));
    at += 2;
  }
  return plain;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view plain = "-._~";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || plain.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += digits[byte >> 4];
      encoded += digits[byte & 15];
    }
  }
  return encoded;
}

std::optional<std::vector<std::string>> path_segments(std::string_view target) {
  auto path = target.substr(0, target.find('?'));
  if (!path.starts_with('/')) return std::nullopt;
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto end = std::min(path.find('/'), path.size());
    auto segment = percent_decoded(path.substr(0, end));
    if (!segment) return std::nullopt;
    segments.push_back(std::move(*segment));
    path.remove_prefix(end);
  }
  return segments;
}

Query::Query(std::string_view target) {
  const auto mark = target.find('?');
  auto rest = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  while (!rest.empty()) {
    const auto end = std::min(rest.find('&'), rest.size());
    const auto pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    auto value = replaced(pair.substr(std::min(equals + 1, pair.size())), "+", " ");
    auto plain_name = percent_decoded(pair.substr(0, equals));
    auto plain_value = percent_decoded(value);
    if (!plain_name || !plain_value) {
      if (!error_) error_ = wrong_query("the query has a % without two hex digits after it");
      continue;
    }
    const bool twice = std::ranges::any_of(
        given_, [&](const auto& earlier) { return earlier.first == *plain_name; });
    if (twice) wrong(quoted(*plain_name), "given twice; give it once");
    given_.emplace_back(std::move(*plain_name), std::move(*plain_value));
  }
}

std::optional<std::string> Query::maybe_text(std::string_view name) {
  known_.emplace_back(name);
  const auto found = std::ranges::find(given_, name, &std::pair<std::string, std::string>::first);
  if (found == given_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::uint64_t> Query::count(std::string_view name, std::uint64_t min,
                                          std::uint64_t max) {
  const auto value = maybe_text(name);
  if (!value) return std::nullopt;
  std::uint64_t number = 0;
  const char* const last = value->data() + value->size();
  const auto [end, error] = std::from_chars(value->data(), last, number);
  if (error == std::errc() && end == last && number >= min && number <= max) return number;
  const bool unbounded = max == std::numeric_limits<std::uint64_t>::max();
  wrong(name, quoted(*value) + "; give a whole number " +
                  (unbounded ? "of at least " + std::to_string(min)
                             : "from " + std::to_string(min) + " to " + std::to_string(max)));
  return std::nullopt;
}

bool Query::flag(std::string_view name) {
  const auto value = maybe_text(name);
  if (!value) return false;
  if (*value != "true" && *value != "false") wrong(name, quoted(*value) + "; give true or false");
  return *value == "true";
}

std::optional<WallTime> Query::time(std::string_view name) {
  const auto value = maybe_text(name);
  if (!value) return std::nullopt;
  const auto time = time_from_text(*value);
  if (!time) wrong(name, quoted(*value) + " is not a time; give one like 2026-01-01T00:00:00Z");
  return time;
}

void Query::wrong(std::string_view name, const std::string& what) {
  if (!error_) error_ = wrong_query(std::string(name) + ": " + what);
}

Status Query::status() const {
  if (error_) return *error_;
  for (const auto& [name, value] : given_) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    std::string names;
    for (const auto& known : known_) names += (names.empty() ? "" : ", ") + known;
    return wrong_query("query parameter " + quoted(name) + " is unknown; " +
                       (names.empty() ? "none is expected here" : "there are " + names));
  }
  return {};
}

}  // namespace sagabox::server
