#pragma once

#include "outbox/read/shard_state.hpp"
#include "outbox/settle/refused_rows.hpp"

#include <sagabox/id.hpp>
#include <sagabox/spi/outbox_store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sagabox::outbox {

/// One batch of results to be stored, shard by shard.
struct SettlePlan {
  WorkerId owner;
  std::vector<spi::Fence> fences;
  std::vector<std::size_t> ends;  ///< where the items of each fence end
  std::vector<spi::Settlement> items;
  std::vector<Settling> about;  ///< further data of each item; its settlement is in `items`
  bool suspect = false;         ///< part of a batch that failed
  /// The number of stored batches when this one last failed for a reason that its rows may not have
  /// caused; nullopt if it has not.
  std::optional<std::uint64_t> failed_after{};
};

/// The first and the second half of the items; both are suspect.
std::pair<SettlePlan, SettlePlan> halves(SettlePlan plan);

/// Returns the items for which `keep(fence, settlement, about)` is true. `dropped` is called for
/// the others.
template <class Keep, class Dropped>
SettlePlan kept_of(SettlePlan plan, Keep&& keep, Dropped&& dropped) {
  SettlePlan kept{.owner = plan.owner, .suspect = plan.suspect, .failed_after = plan.failed_after};
  std::size_t at = 0;
  for (std::size_t part = 0; part < plan.fences.size(); ++part) {
    const auto before = kept.items.size();
    for (; at < plan.ends[part]; ++at) {
      if (!keep(plan.fences[part], plan.items[at], plan.about[at])) {
        dropped(plan.items[at], plan.about[at]);
        continue;
      }
      kept.items.push_back(std::move(plan.items[at]));
      kept.about.push_back(std::move(plan.about[at]));
    }
    if (kept.items.size() == before) continue;
    kept.fences.push_back(plan.fences[part]);
    kept.ends.push_back(kept.items.size());
  }
  return kept;
}

/// Converts a plan with one item to a row, and a row to a plan.
RefusedRows::Row only_row(SettlePlan plan);
SettlePlan plan_of(RefusedRows::Row row);

/// Takes up to `rows_max` rows with the owner of the first one; the plan is suspect.
SettlePlan plan_of(std::vector<RefusedRows::Row>& rows, std::size_t rows_max);

}  // namespace sagabox::outbox
