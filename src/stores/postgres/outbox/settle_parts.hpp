#pragma once

#include <sagabox/spi/outbox_store.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sagabox::postgres {

/// Fewer rows are counted as they are deleted, and looked up one by one: the variant without counts
/// may cost two round trips.
inline constexpr std::size_t rows_many = 256;

using SettledRows = std::vector<const spi::Settlement*>;

/// Done rows, and how they are found: by a walk along their shards (dense), or one by one.
struct DonePart {
  SettledRows rows;
  bool dense = false;
};

/// Estimates how far apart rows lie for a walk along their shards: counted in rows of these shards,
/// since those of other shards are not visited.
struct Walk {
  std::uint64_t shards = 0;      ///< named by the settle
  std::uint64_t shards_all = 0;  ///< of the table

  /// Whether skipping the rows between these, already deleted or not yet due, costs less than a
  /// look-up for each (decisions 019 and 028).
  [[nodiscard]] bool pays(std::span<const spi::Settlement* const> rows) const;
  /// A walk ends at a large gap: between the rows that shards have read so far and those that are
  /// handed over at their commit. It also ends with its lane.
  [[nodiscard]] bool ends_between(const spi::Settlement& one, const spi::Settlement& next) const;

 private:
  [[nodiscard]] std::uint64_t between(const spi::Settlement& one,
                                      const spi::Settlement& next) const;
};

/// Splits `done`, which is ordered by sequence, into parts: lane by lane, each in that order.
std::vector<DonePart> in_parts(SettledRows done, const Walk& walk);

/// A settle of half the shards. Its table and owner are those of the whole settle.
struct Half {
  std::vector<spi::Fence> fences;
  std::span<const spi::Settlement> items;
};

/// Splits many rows that are to be archived into two settles of different shards, which the server
/// runs in parallel. Deleting is too cheap to gain from it. Returns nullopt if it does not pay, or
/// items of a shard are not adjacent.
std::optional<std::array<Half, 2>> in_halves(const spi::SettleRequest& request);

}  // namespace sagabox::postgres
