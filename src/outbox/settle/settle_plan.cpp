#include "outbox/settle/settle_plan.hpp"

#include <algorithm>

namespace sagabox::outbox {
namespace {

void add(SettlePlan& plan, const spi::Fence& fence, spi::Settlement item, Settling about) {
  if (plan.fences.empty() || plan.fences.back().shard != fence.shard) {
    plan.fences.push_back(fence);
    plan.ends.push_back(0);
  }
  plan.items.push_back(std::move(item));
  plan.about.push_back(std::move(about));
  plan.ends.back() = plan.items.size();
}

void add(SettlePlan& plan, RefusedRows::Row row) {
  auto settlement = std::move(row.result.settlement);
  add(plan, row.fence, std::move(settlement), std::move(row.result));
}

}  // namespace

std::pair<SettlePlan, SettlePlan> halves(SettlePlan plan) {
  std::pair<SettlePlan, SettlePlan> both;
  const auto half = plan.items.size() / 2;
  std::size_t at = 0;
  for (std::size_t part = 0; part < plan.fences.size(); ++part) {
    for (; at < plan.ends[part]; ++at) {
      add(at < half ? both.first : both.second, plan.fences[part], std::move(plan.items[at]),
          std::move(plan.about[at]));
    }
  }
  for (auto* one : {&both.first, &both.second}) {
    one->owner = plan.owner;
    one->suspect = true;
    one->failed_after = plan.failed_after;
  }
  return both;
}

RefusedRows::Row only_row(SettlePlan plan) {
  RefusedRows::Row row{
      .owner = plan.owner, .fence = plan.fences.front(), .result = std::move(plan.about.front())};
  row.result.settlement = std::move(plan.items.front());
  return row;
}

SettlePlan plan_of(RefusedRows::Row row) {
  SettlePlan plan{.owner = row.owner, .suspect = true};
  add(plan, std::move(row));
  return plan;
}

SettlePlan plan_of(std::vector<RefusedRows::Row>& rows, std::size_t rows_max) {
  SettlePlan plan{.owner = rows.front().owner, .suspect = true};
  // The items of a shard must be adjacent.
  std::ranges::stable_sort(rows, {}, [](const RefusedRows::Row& row) { return row.fence.shard; });
  std::vector<RefusedRows::Row> left;
  for (auto& row : rows) {
    if (row.owner != plan.owner || plan.items.size() == rows_max) {
      left.push_back(std::move(row));
    } else {
      add(plan, std::move(row));
    }
  }
  rows = std::move(left);
  return plan;
}

}  // namespace sagabox::outbox
