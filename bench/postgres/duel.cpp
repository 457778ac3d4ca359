#include "bench/postgres/duel.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sagabox::bench::postgres {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Contender best_of(const std::string& what, std::vector<Contender> sweep, std::uint32_t rounds,
                  Report& report) {
  std::size_t best = 0;
  std::vector<std::vector<double>> runs(sweep.size());
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::size_t at = 0; at < sweep.size(); ++at) runs[at].push_back(sweep[at].run());
  }
  report.note(what + ", swept:");
  for (std::size_t at = 0; at < sweep.size(); ++at) {
    if (median(runs[at]) > median(runs[best])) best = at;
    report.note(fmt::format("  {:<44}{:>10.0f}", sweep[at].name, median(runs[at])));
  }
  report.note("  taken: " + sweep[best].name);
  return sweep[best];
}

Medians duel(std::uint32_t rounds, const std::function<double()>& ours,
             const std::function<double()>& baseline) {
  std::vector<double> a;
  std::vector<double> b;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    a.push_back(ours());
    b.push_back(baseline());
  }
  return {median(a), median(b)};
}

}  // namespace sagabox::bench::postgres
