#pragma once

#include <sagabox/time.hpp>

#include <cstdint>

namespace sagabox::flow {

/// Limits the rate of rows, evenly distributed. Starts without credit, so that creating it again
/// and again does not raise the rate. Allows at most rate × t + `burst` rows in any time t.
class Pace {
 public:
  /// `rows_a_second` 0: no limit.
  Pace(std::uint32_t rows_a_second, BootTime now);

  /// The number of rows allowed now, up to `rows_max`. 0 until there is credit for a chunk that is
  /// worth a transaction.
  [[nodiscard]] std::uint32_t allowed(BootTime now, std::uint32_t rows_max);
  /// The time when `allowed` will be above 0 for this `rows_max`.
  [[nodiscard]] BootTime allowed_at(BootTime now, std::uint32_t rows_max) const;
  void spend(std::uint32_t rows);
  /// Returns credit that was spent but not needed.
  void refund(std::uint32_t rows);

  /// The most credit: rows for 200 ms, at least one row.
  [[nodiscard]] std::uint32_t burst() const noexcept;

 private:
  [[nodiscard]] std::uint64_t chunk(std::uint32_t rows_max) const noexcept;

  std::uint32_t rate_;
  BootTime counted_to_;
  std::uint64_t credit_ = 0;  // in billionths of a row
};

}  // namespace sagabox::flow
