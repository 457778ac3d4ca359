#pragma once

#include "conformance/store_conformance.hpp"

#include <cstdint>
#include <vector>

namespace sagabox::conformance {

/// What else stores must do where messages without a key belong to whoever claims them
/// (`Capabilities::claims`).
class ClaimConformance : public StoreConformance {
 protected:
  /// What this shard has, or claims from all others.
  std::vector<spi::Row> claim(Shard shard, std::uint32_t rows_max = 1000, Sequence after = {}) {
    std::vector<spi::Row> all;
    // Every look goes to a few of the others' shards.
    for (int look = 0; look < 40; ++look) {
      all = read({shard, lane_normal, after, rows_max, true}).rows;
    }
    return all;
  }
  std::vector<spi::Row> of(Shard shard) { return read({shard, lane_normal, {}, 1000}).rows; }
  static Shard other_than(Shard shard) { return Shard{shard.value == 0 ? Shard{1} : Shard{0}}; }
};

}  // namespace sagabox::conformance
