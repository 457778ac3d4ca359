#pragma once

#include "bench/measure.hpp"

namespace sagabox::bench {

/// From one thread to another that sleeps on a condition variable, `count` times, one by one.
Latency hand_over(std::uint32_t count, std::chrono::microseconds pause);

}  // namespace sagabox::bench
