#include "delivery/retry_schedule.hpp"

#include <algorithm>

namespace sagabox::delivery {
namespace {

Duration longer(Duration wait, double jitter, Random& random) {
  return wait + Duration(static_cast<Duration::rep>(static_cast<double>(wait.count()) * jitter *
                                                    random.unit()));
}

}  // namespace

std::optional<Duration> RetrySchedule::after_failure(std::uint32_t failures, Random& random) const {
  if (failures == 0 || failures > waits.size()) return std::nullopt;
  return longer(waits[failures - 1], jitter, random);
}

std::optional<Duration> RetrySchedule::after_unreachable(std::uint32_t times,
                                                         Random& random) const {
  // Counted in waits, not by the clock: a pause of days is not an endpoint that was down for days.
  Duration waited{};
  Duration wait = unreachable_wait_min;
  for (std::uint32_t time = 1; time < times; ++time) {
    waited += wait;
    if (waited >= unreachable_max) return std::nullopt;
    wait = std::min(2 * wait, unreachable_wait_max);
  }
  if (waited + wait > unreachable_max) return std::nullopt;
  return longer(wait, jitter, random);
}

}  // namespace sagabox::delivery
