#include "core/text.hpp"

#include <sagabox/retry.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace sagabox {
namespace {

using namespace std::chrono_literals;

constexpr Duration wait_max = std::chrono::hours(24 * 365);
constexpr double factor_max = 100;
constexpr double jitter_ceiling = 10;

double between(double low, double high, Random& random) {
  return low + (high - low) * random.unit();
}

Duration nanoseconds(double count) {
  constexpr auto limit = static_cast<double>(Duration::max().count());
  if (!(count < limit)) return Duration::max();
  return Duration(static_cast<Duration::rep>(std::max(count, 0.0)));
}

Error wrong_retry(std::string text) { return {Code::config_invalid, "retry." + std::move(text)}; }

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

Status check_wait(std::string_view name, Duration wait) {
  if (wait >= Duration::zero() && wait <= wait_max) return {};
  return wrong_retry(std::string(name) + ": " + duration_text(wait) + " is not between 0s and " +
                     duration_text(wait_max) + " (a year)");
}

}  // namespace

Duration RetryPolicy::delay(std::uint32_t attempt, Random& random) const {
  const double steps = attempt == 0 ? 0.0 : static_cast<double>(attempt - 1);
  // Limited because the power is infinite for late attempts, and infinity × 0 is not a number.
  const double growth = std::min(std::pow(factor, steps), 1e100);
  const double backoff = std::min(static_cast<double>(backoff_max.count()),
                                  static_cast<double>(backoff_min.count()) * growth);
  const double jittered = backoff * between(jitter_min, jitter_max, random);
  const double added = between(0, static_cast<double>(jitter_added_max.count()), random);
  return std::max(nanoseconds(jittered + added), floor);
}

Status RetryPolicy::check() const {
  if (attempts_max == 0) {
    return wrong_retry("attempts_max: 0 would never deliver anything; it must be at least 1");
  }
  if (auto status = check_wait("backoff_min", backoff_min); !status) return status;
  if (auto status = check_wait("backoff_max", backoff_max); !status) return status;
  if (auto status = check_wait("jitter_added_max", jitter_added_max); !status) return status;
  if (auto status = check_wait("floor", floor); !status) return status;
  if (backoff_max < backoff_min) {
    return wrong_retry("backoff_max: " + duration_text(backoff_max) + " is below backoff_min (" +
                       duration_text(backoff_min) + "); it must be at least as long");
  }
  if (!(factor >= 1 && factor <= factor_max)) {
    return wrong_retry("factor: " + number(factor) + " is not between 1 and " + number(factor_max));
  }
  if (!(jitter_min >= 0 && jitter_min <= jitter_ceiling)) {
    return wrong_retry("jitter_min: " + number(jitter_min) + " is not between 0 and " +
                       number(jitter_ceiling));
  }
  if (!(jitter_max >= jitter_min && jitter_max <= jitter_ceiling)) {
    return wrong_retry("jitter_max: " + number(jitter_max) + " is not between jitter_min (" +
                       number(jitter_min) + ") and " + number(jitter_ceiling));
  }
  return {};
}

RetryPolicy RetryPolicy::patient() {
  return {.attempts_max = 12,
          .backoff_min = 500ms,
          .backoff_max = 300s,
          .factor = 2,
          .jitter_min = 0.7,
          .jitter_max = 1.3,
          .floor = 500ms};
}

RetryPolicy RetryPolicy::persistent() {
  return {.attempts_max = 25,
          .backoff_min = 1s,
          .backoff_max = 60s,
          .factor = 2,
          .jitter_min = 1,
          .jitter_max = 1,
          .jitter_added_max = 200ms};
}

RetryPolicy RetryPolicy::quick() { return {}; }

RetryPolicy RetryPolicy::saga() {
  return {.attempts_max = 6,
          .backoff_min = 1s,
          .backoff_max = 60s,
          .factor = 2,
          .jitter_min = 0.8,
          .jitter_max = 1.2,
          .floor = 1s};
}

Result<RetryPolicy> RetryPolicy::preset(std::string_view name) {
  struct Preset {
    std::string_view name;
    RetryPolicy (*make)();
  };
  constexpr std::array<Preset, 4> presets{
      {{"patient", patient}, {"persistent", persistent}, {"quick", quick}, {"saga", saga}}};
  for (const auto& preset : presets) {
    if (preset.name == name) return preset.make();
  }
  return Error{
      Code::config_invalid,
      "retry preset " + quoted(name) + ": unknown; there are patient, persistent, quick and saga"};
}

}  // namespace sagabox
