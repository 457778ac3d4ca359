#include "bench/duel.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::bench {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Contender best_of(const std::string& what, std::vector<Contender> sweep, const Size& size,
                  Report& report) {
  if (!size.sweep) return sweep.front();
  report.note(what + ", swept:");
  std::size_t best = 0;
  double highest = 0;
  for (std::size_t at = 0; at < sweep.size(); ++at) {
    const auto value = sweep[at].run();
    if (value <= highest) continue;
    highest = value;
    best = at;
  }
  report.note("  taken: " + sweep[best].name);
  return sweep[best];
}

Rates middle_of(std::vector<Rates> rounds) {
  std::ranges::sort(rounds, {}, [](const Rates& of) { return of.ours / of.baseline; });
  return rounds[rounds.size() / 2];
}

Rates duel(std::uint32_t rounds, const std::function<double()>& ours,
           const std::function<double()>& baseline) {
  std::vector<Rates> all(rounds);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    auto& rates = all[round];
    if (round % 2 == 0) rates.ours = ours();
    rates.baseline = baseline();
    if (round % 2 == 1) rates.ours = ours();
  }
  return middle_of(std::move(all));
}

}  // namespace sagabox::bench
