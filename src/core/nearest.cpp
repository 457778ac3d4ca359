#include "core/nearest.hpp"

#include <algorithm>
#include <numeric>

namespace sagabox {
namespace {

/// The number of letters to change, add, remove or swap with the next one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> row(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) row[i][0] = i;
  std::iota(row[0].begin(), row[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[i][j] = std::min({row[i - 1][j] + 1, row[i][j - 1] + 1, row[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[i][j] = std::min(row[i][j], row[i - 2][j - 2] + 1);
      }
    }
  }
  return row[a.size()][b.size()];
}

/// Longer names are not compared: it takes too long, and they are not typing errors.
constexpr std::size_t compared_length_max = 100;

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
  if (name.size() > compared_length_max) return {};
  std::string best;
  auto least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto& known : names) {
    // The difference in length is a lower bound of the distance.
    const auto [shorter, longer] = std::minmax({name.size(), known.size()});
    if (longer - shorter >= least) continue;
    const auto changes = distance(name, known);
    if (changes < least) {
      least = changes;
      best = known;
    }
  }
  return best;
}

}  // namespace sagabox
