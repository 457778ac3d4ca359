#pragma once

#include "bench/duel.hpp"
#include "bench/measure.hpp"
#include "bench/report.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sagabox::bench::hub {

/// So many events for so many subscriptions each.
struct RateLoad {
  std::int64_t events = 0;
  int fan_out = 1;
  std::string url{};  ///< of the receiver
};

struct RateOnStore {
  std::string name;
  int fan_out = 1;
  /// Deliveries a second.
  std::function<double(const RateLoad&)> ours;
  /// By hand, the rows alone.
  std::function<std::vector<Contender>(const RateLoad&)> rows;
};

/// Ours beside a program that writes the rows by hand and then sends the requests, signed, with
/// libcurl alone: its time is the sum of both.
void add_rate(const RateOnStore& on, const Size& size, Report& report);

}  // namespace sagabox::bench::hub
