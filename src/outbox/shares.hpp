#pragma once

#include <sagabox/spi/outbox_store.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace sagabox::outbox {

/// How the room for one read is shared among the lanes that have more than fits. Shards do not have
/// equally many rows: with equal shares some run ahead, and every page of the table is read and
/// written for those and again, later, for the others. So of the lanes of one priority those that
/// are ahead of another get less. Decides only.
class Shares {
 public:
  /// What is ahead gets a share so much smaller, never nothing: it may have waited for long, too.
  static constexpr std::uint32_t times_less = 4;

  /// By sequence.
  struct Apart {
    std::uint64_t level = 4096;  ///< no further apart, lanes are level
    /// Further apart they have no page in common: nobody waits for a shard that comes with an old
    /// backlog.
    std::uint64_t strangers = 65'536;
  };
  Shares() = default;
  explicit Shares(const Apart& apart) : apart_(apart) {}

  /// A lane has more to read than fits, from here on.
  void add(spi::Lane lane, Sequence after) { of_lane(lane).after.push_back(after); }
  /// One that takes room, and that nobody waits for.
  void add_beside() { ++beside_; }
  /// All have been added.
  void divide(std::uint32_t rows);

  [[nodiscard]] bool nobody() const noexcept { return count_ == 0; }
  /// An equal share.
  [[nodiscard]] std::uint32_t even() const noexcept { return even_; }
  [[nodiscard]] std::uint32_t of(spi::Lane lane, Sequence after) const;

 private:
  /// The lanes of one priority.
  struct Lanes {
    std::vector<Sequence> after{};  ///< ascending once divided
    std::uint32_t most = 0;
    std::uint32_t least = 0;
  };
  Lanes& of_lane(spi::Lane lane) { return lanes_[lane.value]; }
  [[nodiscard]] bool ahead(const Lanes& lanes, Sequence after) const;

  Apart apart_{};
  std::array<Lanes, spi::lane_count> lanes_{};
  std::uint32_t beside_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t even_ = 0;
};

}  // namespace sagabox::outbox
