#include "stores/postgres/outbox/settle_parts.hpp"

#include <algorithm>
#include <set>

namespace sagabox::postgres {
namespace {

/// Skipping a row in a walk costs a tenth of the extra cost of a look-up.
constexpr std::uint64_t passed_max = 9;
constexpr std::uint64_t gap_min = 100;

}  // namespace

bool Walk::pays(std::span<const spi::Settlement* const> rows) const {
  return rows.size() >= rows_many && rows.front()->lane &&
         between(*rows.front(), *rows.back()) < passed_max * rows.size();
}

bool Walk::ends_between(const spi::Settlement& one, const spi::Settlement& next) const {
  return one.lane != next.lane || between(one, next) >= gap_min;
}

std::uint64_t Walk::between(const spi::Settlement& one, const spi::Settlement& next) const {
  return (next.sequence.value - one.sequence.value) * shards / shards_all;
}

std::vector<DonePart> in_parts(SettledRows done, const Walk& walk) {
  std::ranges::stable_sort(done, {}, [](const auto* item) { return item->lane; });
  std::vector<DonePart> parts;
  for (std::size_t begin = 0, at = 1; at <= done.size(); ++at) {
    if (at < done.size() && !walk.ends_between(*done[at - 1], *done[at])) continue;
    const auto rows = std::span(done).subspan(begin, at - begin);
    const bool dense = walk.pays(rows);
    if (dense || parts.empty() || parts.back().dense) parts.push_back({{}, dense});
    auto& to = parts.back().rows;
    to.insert(to.end(), rows.begin(), rows.end());
    begin = at;
  }
  return parts;
}

std::optional<std::array<Half, 2>> in_halves(const spi::SettleRequest& request) {
  const auto& items = request.items;
  const bool all_done = std::ranges::all_of(
      items, [](const spi::Settlement& item) { return item.verdict == spi::Verdict::done; });
  if (!request.retain_done || !all_done || items.size() < 2 * rows_many) return std::nullopt;

  // The change of shards that is nearest to the middle.
  const auto from_middle = [&](std::size_t at) {
    return at > items.size() / 2 ? at - items.size() / 2 : items.size() / 2 - at;
  };
  std::size_t cut = 0;
  for (std::size_t at = 1; at < items.size(); ++at) {
    if (items[at].shard != items[at - 1].shard && from_middle(at) < from_middle(cut)) cut = at;
  }
  if (std::min(cut, items.size() - cut) < rows_many) return std::nullopt;

  std::array<Half, 2> halves{Half{{}, items.first(cut)}, Half{{}, items.subspan(cut)}};
  std::array<std::set<std::uint16_t>, 2> shards;
  for (std::size_t half = 0; half < 2; ++half) {
    for (const auto& item : halves[half].items) shards[half].insert(item.shard.value);
  }
  for (const auto& fence : request.fencing.fences) {
    const bool first = shards[0].contains(fence.shard.value);
    if (first && shards[1].contains(fence.shard.value)) return std::nullopt;
    halves[first ? 0 : 1].fences.push_back(fence);
  }
  return halves;
}

}  // namespace sagabox::postgres
