#pragma once

#include <sagabox/spi/outbox_store.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sagabox::postgres {

/// Fewer rows are counted as they are deleted, and looked for one by one: not counting costs two
/// round trips.
inline constexpr std::size_t rows_many = 256;

using SettledRows = std::vector<const spi::Settlement*>;

/// Rows that are done, and how they are found: walking along their shards, or one by one.
struct DonePart {
  SettledRows rows;
  bool dense = false;
};

/// How far rows lie apart that are found by walking along their shards: counted in rows of these
/// shards, since those of all others are not looked at.
struct Walk {
  std::uint64_t shards = 0;      ///< that the settle names
  std::uint64_t shards_all = 0;  ///< of the table

  /// Whether the rows between these, which went already or go later, cost less than looking for
  /// each of ours (decisions 019 and 028).
  [[nodiscard]] bool pays(std::span<const spi::Settlement* const> rows) const;
  /// Where nothing is for a while: between what shards have read so far, before those that are
  /// handed over at their commit. And a walk goes along one lane.
  [[nodiscard]] bool ends_between(const spi::Settlement& one, const spi::Settlement& next) const;

 private:
  [[nodiscard]] std::uint64_t between(const spi::Settlement& one,
                                      const spi::Settlement& next) const;
};

/// `done`, which is in the order of the sequences, in parts: lane by lane, each in that order.
std::vector<DonePart> in_parts(SettledRows done, const Walk& walk);

/// A settle of half the shards. Its table and owner are those of the whole.
struct Half {
  std::vector<spi::Fence> fences;
  std::span<const spi::Settlement> items;
};

/// Many rows to be archived, in two settles of different shards: the server works on both at once.
/// Deleting costs so little that it would gain nothing. Nothing where that is not worth it, or
/// items of a shard do not lie together.
std::optional<std::array<Half, 2>> in_halves(const spi::SettleRequest& request);

}  // namespace sagabox::postgres
