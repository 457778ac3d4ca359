#include "outbox/read/shares.hpp"

#include <algorithm>
#include <cmath>

namespace sagabox::outbox {
namespace {

/// Nearly always enough to find the target; otherwise the shares are slightly uneven.
constexpr int rounds_max = 3;

double number(Sequence sequence) { return static_cast<double>(sequence.value); }

}  // namespace

void Shares::divide(std::uint32_t rows) {
  rows_ = std::max(1U, rows);
  count_ = beside_;
  for (const auto& lanes : lanes_) count_ += static_cast<std::uint32_t>(lanes.hungry.size());
  even_ = std::max(1U, rows_ / std::max(1U, count_));
  for (auto& lanes : lanes_) set_target(lanes);
}

void Shares::set_target(Lanes& lanes) const {
  if (lanes.hungry.size() < 2) return;
  const auto half = lanes.hungry.begin() + static_cast<std::ptrdiff_t>(lanes.hungry.size() / 2);
  std::ranges::nth_element(lanes.hungry, half, {}, &Progress::after);
  lanes.middle = number(half->after);
  // Distributes as many rows as even shares have. Lanes near the target get the minimum, and the
  // others share the rest; this may bring more lanes near the target, hence the rounds.
  for (int round = 0; round < rounds_max; ++round) {
    double rows = 0;
    double rows_a_sequence = 0;
    for (const auto& at : lanes.hungry) {
      if (!takes_part(lanes, at)) continue;
      if (lanes.level && wanted(lanes, at) < least()) {
        rows += even_ - least();
      } else {
        rows += even_ + (number(at.after) - lanes.middle) / at.stride;
        rows_a_sequence += 1 / at.stride;
      }
    }
    if (rows_a_sequence == 0) return;
    lanes.target = rows / rows_a_sequence;
    lanes.level = true;
  }
}

std::uint32_t Shares::of(spi::Lane lane, const Progress& at) const {
  const auto& lanes = lanes_[lane.value];
  if (!lanes.level || !takes_part(lanes, at)) return even_;
  const auto most = std::min<double>(even_ * uneven_max, rows_);
  return std::max(1U, static_cast<std::uint32_t>(std::clamp(wanted(lanes, at), least(), most)));
}

double Shares::wanted(const Lanes& lanes, const Progress& at) {
  return (lanes.middle + lanes.target - number(at.after)) / at.stride;
}

bool Shares::takes_part(const Lanes& lanes, const Progress& at) const {
  return at.stride > 0 && std::abs(number(at.after) - lanes.middle) <= apart_max_;
}

void Stride::seen(Sequence first, Sequence last, std::size_t count) {
  if (count < 2) return;
  const auto rows = static_cast<double>(count - 1);
  const auto stride = (number(last) - number(first)) / rows;
  const auto weight = value_ == 0 ? 1 : std::min(1.0, rows / rows_enough);
  value_ += (stride - value_) * weight;
}

}  // namespace sagabox::outbox
