#include "core/duration_text.hpp"

#include "core/text.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

namespace sagabox {
namespace {

constexpr std::array<std::pair<std::string_view, Duration>, 7> duration_units{{
    {"d", std::chrono::hours(24)},
    {"h", std::chrono::hours(1)},
    {"m", std::chrono::minutes(1)},
    {"s", std::chrono::seconds(1)},
    {"ms", std::chrono::milliseconds(1)},
    {"us", std::chrono::microseconds(1)},
    {"ns", std::chrono::nanoseconds(1)},
}};

}  // namespace

std::optional<Duration> duration_from_text(std::string_view text) {
  const auto digits = text.substr(0, text.find_first_not_of("0123456789."));
  const auto unit = text.substr(digits.size());
  double number = 0;
  const auto* const last = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), last, number);
  if (read.ec != std::errc() || read.ptr != last) return std::nullopt;
  if (number == 0 && unit.empty()) return Duration{};
  for (const auto& [name, length] : duration_units) {
    if (unit != name) continue;
    const auto counted = number * static_cast<double>(length.count());
    if (counted >= static_cast<double>(std::numeric_limits<Duration::rep>::max())) break;
    return Duration(std::llround(counted));
  }
  return std::nullopt;
}

std::string exact_duration_text(Duration duration) {
  if (duration == Duration{}) return "0s";
  for (const auto& [name, length] : duration_units) {
    if (duration % length == Duration{}) {
      return std::to_string(duration / length) + std::string(name);
    }
  }
  return duration_text(duration);
}

}  // namespace sagabox
