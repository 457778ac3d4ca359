#pragma once

#include <sagabox/time.hpp>

#include <cstdint>

namespace sagabox::flow {

/// Lets so many rows a second through, evenly. Begins with nothing to spend, so that whoever is
/// made anew over and over is still no faster. Over any time t at most rate × t + `burst` rows.
class Pace {
 public:
  /// 0: as many as one likes.
  Pace(std::uint32_t rows_a_second, BootTime now);

  /// How many rows may go now, up to `rows_max`. 0 until a chunk worth a transaction has come
  /// together.
  [[nodiscard]] std::uint32_t allowed(BootTime now, std::uint32_t rows_max);
  /// When `allowed` will be above 0 with this `rows_max`.
  [[nodiscard]] BootTime allowed_at(BootTime now, std::uint32_t rows_max) const;
  void spend(std::uint32_t rows);
  /// Spent, but not needed.
  void give_back(std::uint32_t rows);

  /// What may come together at most: 200 ms worth, at least one row.
  [[nodiscard]] std::uint32_t burst() const noexcept;

 private:
  [[nodiscard]] std::uint64_t chunk(std::uint32_t rows_max) const noexcept;

  std::uint32_t rate_;
  BootTime counted_to_;
  std::uint64_t credit_ = 0;  // in billionths of a row
};

}  // namespace sagabox::flow
