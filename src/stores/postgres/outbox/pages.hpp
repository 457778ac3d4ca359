#pragma once

#include "stores/postgres/driver/connection.hpp"

#include <sagabox/spi/outbox_store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::postgres {

template <class Range>
std::uint64_t rows_asked(std::span<const Range> ranges) {
  std::uint64_t rows = 0;
  for (const auto& range : ranges) rows += std::uint64_t{range.rows_max} + 1;
  return rows;
}

/// At least this many rows are worth a statement of their own.
inline constexpr std::uint64_t part_rows_min = 512;
/// Splits the ranges into one to four parts, to be read one after the other.
std::vector<std::span<const spi::Range>> in_parts(std::span<const spi::Range> ranges);

/// Builds the reply of a read from its answers, one after the other: while the server reads the
/// next, this one is decoded.
class Pages {
 public:
  /// Rows beyond `bytes_max` in total are left for the next read, except the first row.
  explicit Pages(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Takes the next ranges and the server's answer for them, which has one row more than requested
  /// for a range that has more.
  void take(Rows answer, std::span<const spi::Range> ranges) { add(std::move(answer), ranges); }
  void take(Rows answer, std::span<const spi::DueRange> ranges) { add(std::move(answer), ranges); }

  /// Fetches payloads that were too large to be sent with their rows. Call it once.
  Result<spi::ReadReply> finish(Connection& connection, const Statement& payloads);

 private:
  /// A row whose payload is not fetched yet.
  struct Late {
    std::size_t answer = 0;
    int row = 0;
    std::size_t part = 0;
    std::size_t place = 0;
    Shard shard{};
  };

  template <class Range>
  void add(Rows answer, std::span<const Range> ranges);
  void add_row(const Rows& answer, int row, Shard shard);
  [[nodiscard]] bool fits(std::size_t bytes) const;
  Status fetch_late(Connection& connection, const Statement& payloads);

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  bool full_ = false;
  spi::ReadReply reply_;
  std::vector<Late> late_;
  std::vector<Rows> kept_;  // answers with rows in `late_`
};

/// The horizon in the first answer of a read, that is, its snapshot. Returns nullopt if the
/// snapshot does not name all transactions.
std::optional<spi::Horizon> horizon_of(const Rows& answer);
/// The number of shards in the same answer, as text.
std::string_view shards_of(const Rows& answer);

}  // namespace sagabox::postgres
