#pragma once

#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/places.hpp"
#include "stores/sqlite/statements.hpp"

#include <sagabox/records.hpp>

#include <cstdint>
#include <string_view>

namespace sagabox::sqlite {

/// How many messages an outbox has of each kind, or by how many that changes. Kept in the row of
/// the outbox, so that nobody has to count; what is pending follows from the sequences given out.
struct Counts {
  std::int64_t gone = 0;  ///< sequences given out that are no longer pending
  std::int64_t waiting = 0;
  std::int64_t done = 0;
  std::int64_t dead = 0;
  std::int64_t quarantined = 0;
  std::int64_t taken = 0;
  Sequence last{};  ///< as a change: the highest that is no longer in the normal lane

  /// So many messages of one lane that were pending have left, the last of them from there.
  void leave(Place last_place, std::int64_t rows = 1) noexcept;
  /// Of dead, quarantined or done.
  std::int64_t& ended(MessageState state) noexcept;
  friend bool operator==(const Counts&, const Counts&) = default;
};

Error no_table(std::string_view table);
/// Within the transaction that changes the rows.
Status add_counts(Connection& connection, const SharedStatements& statements,
                  const TableName& table, const Counts& change);

}  // namespace sagabox::sqlite
