#pragma once

#include <sagabox/spi/outbox_store.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sagabox::outbox {

/// Divides the room for one read among the lanes with more rows than fit. Shards have different
/// numbers of rows: with equal shares some lanes run ahead, and every page of the table is read and
/// written for them and again, later, for the others. Therefore each lane of one priority gets
/// about as many rows as it has up to a common target sequence. Pure.
class Shares {
 public:
  /// A share is at most this many times an even share, and at least an even share divided by this:
  /// no lane gets nothing, because its rows may have waited for long, too.
  static constexpr double uneven_max = 4;

  /// The progress of a lane.
  struct Progress {
    Sequence after{};
    double stride = 0;  ///< the average distance of rows by sequence; 0: not known
  };

  /// A lane that is further than `apart_max` from the middle, by sequence, shares no pages with the
  /// others: they do not wait for a shard with an old backlog.
  explicit Shares(std::uint64_t apart_max = apart_max_default)
      : apart_max_(static_cast<double>(apart_max)) {}
  static constexpr std::uint64_t apart_max_default = 65'536;

  /// Adds a lane with more rows than fit.
  void add(spi::Lane lane, const Progress& at) { lanes_[lane.value].hungry.push_back(at); }
  /// Adds a lane that needs room, but is not part of the target.
  void add_beside() { ++beside_; }
  /// Call it after all lanes were added.
  void divide(std::uint32_t rows);

  [[nodiscard]] bool nobody() const noexcept { return count_ == 0; }
  [[nodiscard]] std::uint32_t even() const noexcept { return even_; }
  [[nodiscard]] std::uint32_t of(spi::Lane lane, const Progress& at) const;

 private:
  /// The lanes of one priority.
  struct Lanes {
    std::vector<Progress> hungry{};
    double middle = 0;   ///< the position of the median lane
    double target = 0;   ///< the target for all lanes, relative to `middle`
    bool level = false;  ///< whether there is a target
  };
  void set_target(Lanes& lanes) const;
  /// The number of rows up to the target.
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

/// Estimates the average distance of the rows of a lane, by sequence.
class Stride {
 public:
  /// Adds the new rows of a page, from the first to the last.
  void seen(Sequence first, Sequence last, std::size_t count);
  /// 0: not known.
  [[nodiscard]] double value() const noexcept { return value_; }

 private:
  /// A page with this many rows replaces the earlier estimate.
  static constexpr double rows_enough = 16;
  double value_ = 0;
};

}  // namespace sagabox::outbox
