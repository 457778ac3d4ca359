#pragma once

#include <cstdint>
#include <memory>

namespace sagabox {

/// A source of random numbers. Safe to call from any thread.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;

  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// Uniform in [0, bound); 0 for a bound of 0.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
};

/// Seeded from the operating system.
Random& system_random();

/// Returns the same numbers for the same seed.
std::unique_ptr<Random> seeded_random(std::uint64_t seed);

}  // namespace sagabox
