#include "outbox/shares.hpp"

#include <algorithm>

namespace sagabox::outbox {

void Shares::divide(std::uint32_t rows) {
  count_ = beside_;
  for (const auto& lanes : lanes_) count_ += static_cast<std::uint32_t>(lanes.after.size());
  const auto share = [rows](std::uint64_t times, std::uint64_t parts) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        times * rows / std::max<std::uint64_t>(1, parts), 1, std::max(1U, rows)));
  };
  even_ = share(1, count_);
  for (auto& lanes : lanes_) {
    std::ranges::sort(lanes.after);
    const std::uint64_t all = lanes.after.size();
    const auto in_front = static_cast<std::uint64_t>(
        std::ranges::count_if(lanes.after, [&](Sequence after) { return ahead(lanes, after); }));
    // A priority keeps what it would have had: the others get nothing of what some give up.
    const auto parts = count_ * (times_less * (all - in_front) + in_front);
    lanes.most = in_front == 0 ? even_ : share(all * times_less, parts);
    lanes.least = in_front == 0 ? even_ : share(all, parts);
  }
}

std::uint32_t Shares::of(spi::Lane lane, Sequence after) const {
  const auto& lanes = lanes_[lane.value];
  return ahead(lanes, after) ? lanes.least : lanes.most;
}

bool Shares::ahead(const Lanes& lanes, Sequence after) const {
  if (after.value <= apart_.level) return false;
  const auto nearest = Sequence{after.value - apart_.level};
  const auto furthest = Sequence{after.value - std::min(after.value, apart_.strangers)};
  const auto behind = std::ranges::lower_bound(lanes.after, furthest);
  return behind != lanes.after.end() && *behind < nearest;
}

}  // namespace sagabox::outbox
