#include "flow/pace.hpp"

#include <algorithm>
#include <limits>

namespace sagabox::flow {
namespace {

constexpr std::uint64_t row =
    1'000'000'000;  // at a rate of one row per second, each nanosecond adds 1
constexpr std::uint32_t paced_bursts_a_second = 5;
constexpr std::uint32_t chunks_a_second = 10;

}  // namespace

Pace::Pace(std::uint32_t rows_a_second, BootTime now) : rate_(rows_a_second), counted_to_(now) {}

std::uint32_t Pace::burst() const noexcept {
  if (rate_ == 0) return std::numeric_limits<std::uint32_t>::max();
  return std::max(rate_ / paced_bursts_a_second, 1U);
}

std::uint64_t Pace::chunk(std::uint32_t rows_max) const noexcept {
  return std::clamp(rate_ / chunks_a_second, 1U, std::max(rows_max, 1U));
}

std::uint32_t Pace::allowed(BootTime now, std::uint32_t rows_max) {
  if (rate_ == 0) return rows_max;
  // Limited to one second: credit is bounded anyway, and the product must not overflow.
  const auto gone = std::clamp<Duration>(now - counted_to_, Duration{}, std::chrono::seconds(1));
  counted_to_ = std::max(counted_to_, now);
  credit_ = std::min(credit_ + rate_ * static_cast<std::uint64_t>(gone.count()), burst() * row);
  if (credit_ < chunk(rows_max) * row) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(credit_ / row, rows_max));
}

BootTime Pace::allowed_at(BootTime now, std::uint32_t rows_max) const {
  if (rate_ == 0) return now;
  const auto wanted = chunk(rows_max) * row;
  if (credit_ >= wanted) return now;
  const auto missing = (wanted - credit_ + rate_ - 1) / rate_;
  return counted_to_ + Duration(static_cast<Duration::rep>(missing));
}

void Pace::spend(std::uint32_t rows) {
  if (rate_ != 0) credit_ -= std::min(credit_, rows * row);
}

void Pace::refund(std::uint32_t rows) {
  if (rate_ != 0) credit_ = std::min(credit_ + rows * row, burst() * row);
}

}  // namespace sagabox::flow
