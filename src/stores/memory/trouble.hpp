#pragma once

#include "stores/memory/rows.hpp"

#include <memory>
#include <utility>

namespace sagabox::memory {

/// Changes what few rows have; a copy of the row made before keeps what it had.
template <class Change>
void amend(Slot& slot, Change&& change) {
  auto trouble =
      slot.trouble ? std::make_shared<Trouble>(*slot.trouble) : std::make_shared<Trouble>();
  std::forward<Change>(change)(*trouble);
  slot.trouble = std::move(trouble);
}

/// Code and error are those of the last failure; the history takes it if it spent an attempt.
void note_failure(Slot& slot, const spi::Settlement& item, WallTime now);

}  // namespace sagabox::memory
