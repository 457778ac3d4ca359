#pragma once

#include "bench/measure.hpp"
#include "bench/report.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sagabox::bench {

/// One way to do it, measured by `run`, higher is better.
struct Contender {
  std::string name;
  std::function<double()> run;
};

/// Runs each once and gives the best; without a sweep the first.
Contender best_of(const std::string& what, std::vector<Contender> sweep, const Size& size,
                  Report& report);

struct Rates {
  double ours = 0;
  double baseline = 0;
};
/// The round whose ratio is the median's: both of one round have met the same minute.
Rates middle_of(std::vector<Rates> rounds);
/// Ours and the baseline in turn, so that what else the machine does meets both; who begins changes
/// from round to round.
Rates duel(std::uint32_t rounds, const std::function<double()>& ours,
           const std::function<double()>& baseline);

double median(std::vector<double> values);

}  // namespace sagabox::bench
