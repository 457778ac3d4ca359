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
constexpr Duration age_max = std::chrono::days(36'500);

Error wrong(std::string_view what, std::string_view text, std::string_view right) {
  return {Code::config_invalid,
          std::string(what) + " \"" + std::string(text) + "\": " + std::string(right)};
}

/// Digits with at most one dot.
std::optional<double> decimal(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) {
    return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Only digits.
template <class Number>
std::optional<Number> whole(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Parses a number and a unit.
std::optional<Duration> amount(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Duration>, 5> units{{
      {"ms", milliseconds(1)},
      {"s", seconds(1)},
      {"m", minutes(1)},
      {"h", hours(1)},
      {"d", std::chrono::days(1)},
  }};
  const auto digits = text.substr(0, text.find_first_not_of("0123456789."));
  const auto number = decimal(digits);
  for (const auto& [name, unit] : units) {
    if (!number || text.substr(digits.size()) != name) continue;
    const auto nanoseconds = *number * static_cast<double>(unit.count());
    if (nanoseconds > static_cast<double>(age_max.count())) return std::nullopt;
    return Duration(static_cast<Duration::rep>(nanoseconds));
  }
  return std::nullopt;
}

/// Removes `digits` digits and the delimiter after them from the front.
std::optional<int> take(std::string_view& text, std::size_t digits, std::string_view then) {
  const auto number = text.substr(0, digits);
  const auto value = whole<int>(number);
  if (number.size() != digits || number.front() == '-' || !value) return std::nullopt;
  if (!text.substr(digits).starts_with(then)) return std::nullopt;
  text.remove_prefix(digits + then.size());
  return value;
}

/// "Z", "+01:00": how far local time is ahead of UTC.
std::optional<minutes> offset_of(std::string_view text) {
  if (text == "Z" || text == "z") return minutes(0);
  if (!text.starts_with('+') && !text.starts_with('-')) return std::nullopt;
  const int sign = text.front() == '+' ? 1 : -1;
  text.remove_prefix(1);
  const auto hour = take(text, 2, ":");
  const auto minute = hour ? take(text, 2, "") : std::nullopt;
  if (!minute || !text.empty() || *hour > 23 || *minute > 59) return std::nullopt;
  return sign * (hours(*hour) + minutes(*minute));
}

std::optional<WallTime> time_of(std::string_view text) {
  const auto year = take(text, 4, "-");
  const auto month = year ? take(text, 2, "-") : std::nullopt;
  const auto day = month ? take(text, 2, "") : std::nullopt;
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  WallTime time = std::chrono::sys_days(date);
  if (text.empty()) return time;
  if (text.front() != 'T' && text.front() != 't' && text.front() != ' ') return std::nullopt;
  text.remove_prefix(1);
  const auto hour = take(text, 2, ":");
  const auto minute = hour ? take(text, 2, ":") : std::nullopt;
  const auto second = minute ? take(text, 2, "") : std::nullopt;
  if (!second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  time += hours(*hour) + minutes(*minute) + seconds(*second);
  if (text.starts_with('.')) {
    const auto digits = text.substr(0, text.find_first_not_of("0123456789", 1));
    const auto fraction = decimal("0" + std::string(digits));
    if (!fraction || digits.size() < 2) return std::nullopt;
    time += std::chrono::microseconds(static_cast<std::int64_t>(*fraction * 1e6));
    text.remove_prefix(digits.size());
  }
  const auto offset = offset_of(text);
  if (!offset) return std::nullopt;
  return time - *offset;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto duration = amount(text);
  if (duration && *duration >= Duration(1) && *duration <= duration_max) return *duration;
  return wrong("duration", text,
               "write a number and a unit, such as 500ms, 3s, 10m or 1h, up to 24h");
}

Result<Duration> parse_age(std::string_view text) {
  if (text == "0") return Duration{};
  const auto age = amount(text);
  if (age && *age <= age_max) return *age;
  return wrong("age", text, "write a number and a unit, such as 90s, 2h or 7d, or 0");
}

Result<WallTime> parse_time(std::string_view text) {
  const auto time = time_of(text);
  if (time) return *time;
  return wrong("time", text, "write it as 2026-01-31T03:00:00Z, or only the day");
}

Result<When> parse_when(std::string_view text) {
  if (const auto age = parse_age(text); age.ok()) return When{.ago = *age};
  if (const auto time = time_of(text)) return When{.at = *time};
  return wrong("time", text, "write how long ago (90s, 2h, 7d), or when: 2026-01-31T03:00:00Z");
}

Result<ReplayBound> parse_bound(std::string_view text) {
  if (const auto sequence = whole<std::uint64_t>(text)) {
    return ReplayBound{.sequence = Sequence{*sequence}};
  }
  if (const auto when = parse_when(text); when.ok()) return ReplayBound{.when = *when};
  return wrong("bound", text,
               "write a sequence (8812), how long ago (90s, 2h, 7d), or a time "
               "(2026-01-31T03:00:00Z)");
}

Result<std::uint32_t> parse_rate(std::string_view text) {
  constexpr std::uint32_t rate_max = 1'000'000;
  constexpr std::string_view unit = "/s";
  const auto digits = text.ends_with(unit) ? text.substr(0, text.size() - unit.size()) : text;
  const auto rate = whole<std::uint32_t>(digits);
  if (rate && *rate >= 1 && *rate <= rate_max) return *rate;
  return wrong("rate", text, "write messages a second from 1 to 1000000, such as 50/s");
}

Result<Code> parse_code(std::string_view text) {
  std::string names;
  for (std::size_t at = 0; at < code_count; ++at) {
    const auto code = static_cast<Code>(at);
    if (code_name(code) == text) return code;
    names += (names.empty() ? "" : ", ") + std::string(code_name(code));
  }
  return wrong("code", text, "the codes are " + names);
}

Result<MessageState> parse_state(std::string_view text) {
  if (const auto state = state_from_name(text)) return *state;
  return wrong("state", text, "the states are pending, done, dead and quarantined");
}

Result<std::uint32_t> parse_count(std::string_view what, std::string_view text, std::uint32_t min,
                                  std::uint32_t max) {
  const auto value = whole<std::uint32_t>(text);
  if (value && *value >= min && *value <= max) return *value;
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
