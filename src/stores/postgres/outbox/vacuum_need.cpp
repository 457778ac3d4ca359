#include "stores/postgres/outbox/vacuum_need.hpp"

#include <algorithm>
#include <chrono>

namespace sagabox::postgres {
namespace {

/// Dead rows for each pending row.
constexpr std::int64_t dead_min = 2;
constexpr std::int64_t dead_enough = 10;
/// Rows deleted for each row written meanwhile.
constexpr std::int64_t left_max = 2;

constexpr int rest_times_freed = 2;
constexpr int rest_times_held = 9;
constexpr Duration rest_held_max = std::chrono::minutes(2);

}  // namespace

bool needs_vacuum(const RowCounts& now, const std::optional<RowCounts>& before) {
  if (now.dead >= dead_enough * now.live) return true;
  if (!before || now.dead < dead_min * now.live) return false;
  const auto written = now.written - before->written;
  const auto left = now.left - before->left;
  return written > 0 && left > 0 && left <= left_max * written;
}

Duration rest_after_vacuum(std::int64_t dead, std::int64_t dead_after, Duration took) {
  const Duration usual = rest_times_freed * took;
  const bool freed = dead_after <= dead / 2;
  return freed ? usual : std::max(usual, std::min<Duration>(rest_times_held * took, rest_held_max));
}

}  // namespace sagabox::postgres
