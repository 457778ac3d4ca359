#pragma once

#include "bench/measure.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sagabox::bench::slo {

struct Pace {
  std::string url;
  std::uint64_t messages = 0;
  std::uint32_t rate = 1000;  ///< a second, evenly
  int threads = 8;
};

/// Writes them, each in a transaction of its own, by an outbox that delivers nothing. Returns when
/// each COMMIT had returned; throws what failed.
std::vector<Steady::time_point> write_at_pace(const Pace& pace);

}  // namespace sagabox::bench::slo
