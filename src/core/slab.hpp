#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sagabox {

/// A container that assigns a number to each element. Numbers are not reused: the number of a
/// removed element finds nothing.
template <class Thing>
class Slab {
 public:
  std::uint64_t add(Thing thing) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(cells_.size()));
      cells_.emplace_back();
    }
    const auto at = free_.back();
    free_.pop_back();
    auto& cell = cells_[at];
    cell.thing.emplace(std::move(thing));
    return std::uint64_t{++cell.generation} << index_bits | at;
  }

  [[nodiscard]] Thing* find(std::uint64_t number) {
    const auto at = static_cast<std::uint32_t>(number);
    if (at >= cells_.size() || cells_[at].generation != number >> index_bits) return nullptr;
    return cells_[at].thing ? &*cells_[at].thing : nullptr;
  }

  void remove(std::uint64_t number) {
    const auto at = static_cast<std::uint32_t>(number);
    cells_[at].thing.reset();
    free_.push_back(at);
  }

  template <class Work>
  void for_each(Work&& work) {
    for (std::uint32_t at = 0; at < cells_.size(); ++at) {
      auto& cell = cells_[at];
      if (cell.thing) work(std::uint64_t{cell.generation} << index_bits | at, *cell.thing);
    }
  }

 private:
  static constexpr unsigned index_bits = 32;
  struct Cell {
    std::uint32_t generation = 0;
    std::optional<Thing> thing{};
  };
  std::vector<Cell> cells_;
  std::vector<std::uint32_t> free_;
};

}  // namespace sagabox
