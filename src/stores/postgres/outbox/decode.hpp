#pragma once

#include "core/stored_message.hpp"
#include "stores/postgres/driver/values.hpp"

#include <sagabox/records.hpp>
#include <sagabox/spi/outbox_store.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::postgres {

/// The columns of a read, see sql/read.sql, from `first` on.
struct RowColumns {
  static constexpr int sequence = 0;
  static constexpr int id = 1;
  static constexpr int topic = 2;
  static constexpr int key = 3;
  static constexpr int payload = 4;  ///< NULL if it is too large to be sent with the row
  static constexpr int digest = 5;
  static constexpr int occurred_at = 6;
  static constexpr int written_at = 7;
  static constexpr int rest = 8;  ///< NULL if all of it has the usual values
};

/// The memory that this row will need, computed without decoding it.
std::size_t bytes_of_row(const Rows& rows, int row, int first);
spi::Row decode_row(const Rows& rows, int row, int first, Shard shard, std::string_view payload);

/// Decodes a pg_snapshot in binary, and the next transaction id, modulo 2^32, as it was after that
/// snapshot was made. A snapshot says nothing about transactions from its xmax on, that is, above
/// the last one that has ended: some may have drawn sequences long ago. They are included too.
/// Returns nullopt if they are too many (one with thousands of savepoints). `holders`: the numbers,
/// modulo 2^32 and separated by commas, of transactions that no read needs to wait for.
std::optional<spi::Horizon> decode_horizon(std::string_view snapshot, std::uint32_t next,
                                           std::string_view holders);
inline constexpr std::uint32_t unnamed_transactions_max = 4096;

}  // namespace sagabox::postgres
