#pragma once

#include <sagabox/time.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace sagabox::crash {

/// Waits for a condition that other processes bring about; generous, so that only a fault fails it.
template <class Condition>
[[nodiscard]] bool eventually(Condition&& condition, Duration limit = std::chrono::seconds(120)) {
  using std::chrono::milliseconds;
  const auto end = std::chrono::steady_clock::now() + limit;
  for (auto wait = milliseconds(2); !condition(); wait = std::min(2 * wait, milliseconds(50))) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(wait);
  }
  return true;
}

}  // namespace sagabox::crash
