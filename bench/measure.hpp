#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sagabox::bench {

using Steady = std::chrono::steady_clock;

/// How much is measured, and how often.
struct Size {
  std::uint32_t messages = 1'000'000;
  std::uint32_t hand_overs = 5'000;
  std::uint32_t repeats = 3;
  std::int64_t rows = 200'000;             ///< of a table that is drained
  bool sweep = true;                       ///< else the baseline that won on two cores
  std::optional<std::uint32_t> seconds{};  ///< of a run that takes its time
  std::uint32_t rate = 1000;               ///< messages a second of ordinary load
};

inline double seconds_since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

/// Processor time of this process so far. Wall times of a machine that others use say little; this
/// says more.
double cpu_seconds();

/// Calls `run()` `repeats` times; gives the highest of what it returned.
template <class Run>
double best_rate(std::uint32_t repeats, Run&& run) {
  double best = 0;
  for (std::uint32_t round = 0; round < repeats; ++round) best = std::max(best, run());
  return best;
}

/// Of one run of many single measurements, in microseconds.
struct Latency {
  double p50 = 0;
  double p99 = 0;
};

inline Latency latency_of(std::vector<double> microseconds) {
  std::sort(microseconds.begin(), microseconds.end());
  const auto at = [&](std::size_t percent) {
    return microseconds[std::min(microseconds.size() - 1, microseconds.size() * percent / 100)];
  };
  return {at(50), at(99)};
}

/// The lowest of each over `repeats` runs.
template <class Run>
Latency best_latency(std::uint32_t repeats, Run&& run) {
  Latency best = run();
  for (std::uint32_t round = 1; round < repeats; ++round) {
    const Latency again = run();
    best = {std::min(best.p50, again.p50), std::min(best.p99, again.p99)};
  }
  return best;
}

}  // namespace sagabox::bench
