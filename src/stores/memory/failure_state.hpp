#pragma once

#include "stores/memory/rows.hpp"

#include <memory>
#include <utility>

namespace sagabox::memory {

/// Changes the rare data of a row; earlier copies of the row keep the old data.
template <class Change>
void amend(Slot& slot, Change&& change) {
  auto failure_state = slot.failure_state ? std::make_shared<FailureState>(*slot.failure_state)
                                          : std::make_shared<FailureState>();
  std::forward<Change>(change)(*failure_state);
  slot.failure_state = std::move(failure_state);
}

/// Sets code and error to those of the last failure; a failure that used an attempt is added to the
/// history.
void note_failure(Slot& slot, const spi::Settlement& item, WallTime now);

}  // namespace sagabox::memory
