#pragma once

#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/places.hpp"
#include "stores/sqlite/statements.hpp"

#include <sagabox/records.hpp>

#include <cstdint>
#include <string_view>

namespace sagabox::sqlite {

/// How many messages an outbox has of each kind, or by how much these numbers change. Stored in the
/// row of the outbox, so that no query has to count; the number of pending ones follows from the
/// sequences given out.
struct Counts {
  std::int64_t gone = 0;  ///< sequences that are no longer pending
  std::int64_t waiting = 0;
  std::int64_t done = 0;
  std::int64_t dead = 0;
  std::int64_t quarantined = 0;
  std::int64_t taken = 0;
  Sequence last{};  ///< as a change: the highest that is no longer in the normal lane

  /// Counts `rows` of one lane that were pending and have left; `last_place` is the last of them.
  void leave(Place last_place, std::int64_t rows = 1) noexcept;
  /// The count of dead, quarantined or done messages.
  std::int64_t& ended(MessageState state) noexcept;
  friend bool operator==(const Counts&, const Counts&) = default;
};

Error no_table(std::string_view table);
/// Call it within the transaction that changes the rows.
Status add_counts(Connection& connection, const SharedStatements& statements,
                  const TableName& table, const Counts& change);

}  // namespace sagabox::sqlite
