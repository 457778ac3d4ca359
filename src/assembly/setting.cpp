#include "assembly/setting.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

namespace sagabox::assembly {
namespace {

/// Letters to change, add, leave out or swap with the next.
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

constexpr std::size_t name_length_max = 100;

}  // namespace

const Given* Given::find(std::string_view key) const {
  const auto found =
      std::ranges::find_if(members, [&](const Member& member) { return member.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

Given& Given::at(std::string_view key) {
  if (shape == Shape::list) {
    // A list of names as a map: each with nothing to say.
    for (auto& member : members) {
      member.key = std::exchange(member.value, Given{.from = member.value.from}).text;
    }
  }
  if (shape == Shape::text) {
    members.push_back({.key = std::exchange(text, {}), .from = from, .value = {.from = from}});
  }
  shape = Shape::map;
  const auto found =
      std::ranges::find_if(members, [&](const Member& member) { return member.key == key; });
  if (found != members.end()) return found->value;
  return members.emplace_back(Member{.key = std::string(key)}).value;
}

Setting Setting::between(std::string least, std::string most) && {
  min = std::move(least);
  max = std::move(most);
  return std::move(*this);
}

Setting Setting::hidden(Secret how) && {
  secret = how;
  return std::move(*this);
}

Setting Setting::checked(std::function<std::string(const void*)> by) && {
  check = std::move(by);
  return std::move(*this);
}

Setting Setting::short_for(std::string part) && {
  shorthand = std::move(part);
  return std::move(*this);
}

Setting Setting::changed_by(Change how) && {
  change = how;
  return std::move(*this);
}

bool names_a_secret(std::string_view name) {
  constexpr std::array<std::string_view, 9> words{
      "secret", "password", "passphrase", "token", "key", "auth", "header", "jaas", "cookie"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(
      words, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
  if (name.size() > name_length_max) return {};
  std::string best;
  auto least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto& known : names) {
    // Each letter that one of them has more is a change.
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

}  // namespace sagabox::assembly
