#pragma once

#include "stores/memory/rows.hpp"

#include <memory>
#include <utility>

namespace sagabox::memory {

/// Changes the rare data of a row; earlier copies of the row keep the old data.
template <class Change>
void amend(Slot& slot, Change&& change) {
  auto trouble =
      slot.trouble ? std::make_shared<Trouble>(*slot.trouble) : std::make_shared<Trouble>();
  std::forward<Change>(change)(*trouble);
  slot.trouble = std::move(trouble);
}

/// Sets code and error to those of the last failure; a failure that used an attempt is added to the
/// history.
void note_failure(Slot& slot, const spi::Settlement& item, WallTime now);

}  // namespace sagabox::memory
