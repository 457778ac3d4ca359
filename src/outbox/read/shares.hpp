#pragma once

#include <sagabox/spi/outbox_store.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sagabox::outbox {

/// How the room for one read is shared among the lanes that have more than fits. Shards do not have
/// equally many rows: with equal shares some run ahead, and every page of the table is read and
/// written for those and again, later, for the others. So of the lanes of one priority each gets
/// about as many rows as it has up to one sequence, the same for all. Decides only.
class Shares {
 public:
  /// A share is so many times an even one at most, and at least the same part of it: nobody gets
  /// nothing, he may have waited for long, too.
  static constexpr double uneven_max = 4;

  /// How far a lane has come.
  struct Progress {
    Sequence after{};
    double stride = 0;  ///< from one row to the next, by sequence; 0: not known
  };

  /// Further than `apart_max` from the middle, by sequence, a lane has no page in common with the
  /// others: nobody waits for a shard that comes with an old backlog.
  explicit Shares(std::uint64_t apart_max = apart_max_default)
      : apart_max_(static_cast<double>(apart_max)) {}
  static constexpr std::uint64_t apart_max_default = 65'536;

  /// A lane has more to read than fits.
  void add(spi::Lane lane, const Progress& at) { lanes_[lane.value].hungry.push_back(at); }
  /// One that takes room, and that nobody waits for.
  void add_beside() { ++beside_; }
  /// All have been added.
  void divide(std::uint32_t rows);

  [[nodiscard]] bool nobody() const noexcept { return count_ == 0; }
  [[nodiscard]] std::uint32_t even() const noexcept { return even_; }
  [[nodiscard]] std::uint32_t of(spi::Lane lane, const Progress& at) const;

 private:
  /// The lanes of one priority.
  struct Lanes {
    std::vector<Progress> hungry{};
    double middle = 0;   ///< where the one in the middle is
    double target = 0;   ///< how far all should come, from the middle on
    bool level = false;  ///< there is such a target
  };
  void set_target(Lanes& lanes) const;
  /// Rows up to the target.
  [[nodiscard]] static double wanted(const Lanes& lanes, const Progress& at);
  [[nodiscard]] double least() const noexcept { return even_ / uneven_max; }
  [[nodiscard]] bool takes_part(const Lanes& lanes, const Progress& at) const;

  double apart_max_;
  std::array<Lanes, spi::lane_count> lanes_{};
  std::uint32_t beside_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t rows_ = 0;
  std::uint32_t even_ = 0;
};

/// How far apart the rows of a lane lie, from one to the next, by sequence.
class Stride {
 public:
  /// New rows of a page, from the first to the last.
  void seen(Sequence first, Sequence last, std::size_t count);
  /// 0: not known.
  [[nodiscard]] double value() const noexcept { return value_; }

 private:
  /// So many rows tell as much as all before.
  static constexpr double rows_enough = 16;
  double value_ = 0;
};

}  // namespace sagabox::outbox
