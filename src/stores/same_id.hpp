#pragma once

#include "core/same_id.hpp"

#include <sagabox/spi/outbox_admin_store.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace sagabox {

/// `MoveReply::Item::id_is_pending`: the move would make a second pending message of one tenant and
/// id. Either the chosen row is pending and the move is for another row, or the chosen row is to
/// become pending and another row is.
[[nodiscard]] inline bool waits_for_pending(std::span<const RowOfId> rows, std::size_t chosen,
                                            spi::Move move) {
  if (move == spi::Move::quarantine) return false;
  const RowOfId& meant = rows[chosen];
  return std::ranges::any_of(rows, [&](const RowOfId& row) {
    if (row.tenant != meant.tenant) return false;
    return meant.state == MessageState::pending
               ? allows(move, row.state)
               : allows(move, meant.state) && row.state == MessageState::pending;
  });
}

}  // namespace sagabox
