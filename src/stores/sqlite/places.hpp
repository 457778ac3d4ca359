#pragma once

#include <sagabox/spi/outbox_store.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

/// The row id of a pending row is its place: waiting rows come first, then each lane, ordered by
/// sequence within them. So every read walks along the table itself, and needs no index. The normal
/// lane comes last: its new rows are appended to the table, which is cheapest.
namespace sagabox::sqlite {

using Place = std::int64_t;

inline constexpr int sequence_bits = 45;
inline constexpr std::uint64_t sequence_max = (1ULL << sequence_bits) - 1;

inline constexpr Place waiting_from = 0;
inline constexpr Place high_from = Place{1} << sequence_bits;
inline constexpr Place low_from = Place{2} << sequence_bits;
inline constexpr Place normal_from = Place{3} << sequence_bits;

/// Most likely first.
inline constexpr std::array every_lane{normal_from, waiting_from, high_from, low_from};

[[nodiscard]] constexpr Place lane_from(spi::Lane lane) noexcept {
  if (lane.value == static_cast<std::uint8_t>(Priority::high)) return high_from;
  return lane.value == static_cast<std::uint8_t>(Priority::low) ? low_from : normal_from;
}

/// A sequence beyond the last possible one is clamped to it.
[[nodiscard]] constexpr Place place_of(Place from, Sequence sequence) noexcept {
  return from + static_cast<Place>(std::min(sequence.value, sequence_max));
}

[[nodiscard]] constexpr Place last_of(Place from) noexcept {
  return from + static_cast<Place>(sequence_max);
}

[[nodiscard]] constexpr Sequence sequence_of(Place place) noexcept {
  return Sequence{static_cast<std::uint64_t>(place) & sequence_max};
}

[[nodiscard]] constexpr bool waits(Place place) noexcept { return place < high_from; }

}  // namespace sagabox::sqlite
