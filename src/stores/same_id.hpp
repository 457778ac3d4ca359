#pragma once

#include "core/same_id.hpp"

#include <sagabox/spi/outbox_admin_store.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace sagabox {

/// `MoveReply::Item::id_is_pending` where the chosen row cannot be moved: it is pending, and
/// another of its tenant, which the move is for, has to wait until it has ended.
[[nodiscard]] inline bool waits_for_pending(std::span<const RowOfId> rows, std::size_t chosen,
                                            spi::Move move) {
  return rows[chosen].state == MessageState::pending &&
         std::ranges::any_of(rows, [&](const RowOfId& row) {
           return row.tenant == rows[chosen].tenant && allows(move, row.state);
         });
}

}  // namespace sagabox
