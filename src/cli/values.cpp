#include "cli/values.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace sagabox::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration duration_max = hours(24);

Error wrong(std::string_view what, std::string_view text, std::string_view right) {
  return {Code::config_invalid,
          std::string(what) + " \"" + std::string(text) + "\": " + std::string(right)};
}

/// Digits with at most one dot; nothing else.
std::optional<double> decimal(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) {
    return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  constexpr std::string_view right =
      "write a number and a unit, such as 500ms, 3s, 10m or 1h, up to 24h";
  constexpr std::array<std::pair<std::string_view, Duration>, 4> units{{
      {"ms", milliseconds(1)},
      {"s", seconds(1)},
      {"m", minutes(1)},
      {"h", hours(1)},
  }};
  const auto digits = text.substr(0, text.find_first_not_of("0123456789."));
  const auto number = decimal(digits);
  for (const auto& [name, unit] : units) {
    if (!number || text.substr(digits.size()) != name) continue;
    const auto nanoseconds = *number * static_cast<double>(unit.count());
    if (nanoseconds < 1 || nanoseconds > static_cast<double>(duration_max.count())) break;
    return Duration(static_cast<Duration::rep>(nanoseconds));
  }
  return wrong("duration", text, right);
}

Result<std::uint32_t> parse_count(std::string_view what, std::string_view text, std::uint32_t min,
                                  std::uint32_t max) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= min && value <= max) {
    return value;
  }
  return wrong(what, text,
               "write a whole number from " + std::to_string(min) + " to " + std::to_string(max));
}

Result<double> parse_percent(std::string_view text) {
  const auto number = decimal(text.ends_with('%') ? text.substr(0, text.size() - 1) : text);
  if (!number || *number > 100) {
    return wrong("percent", text, "write a number from 0 to 100, such as 5 or 0.5");
  }
  return *number;
}

Result<std::string> parse_store(std::string_view text) {
#ifdef SAGABOX_SQLITE
  constexpr std::string_view sqlite = "sqlite:";
  const bool known = text == "memory:" || (text.starts_with(sqlite) && text.size() > sqlite.size());
  if (!known) return wrong("store URL", text, "memory: and sqlite:FILE are built in so far");
#else
  if (text != "memory:") return wrong("store URL", text, "only memory: is built in so far");
#endif
  return std::string(text);
}

}  // namespace sagabox::cli
