#include "stores/memory/failure_state.hpp"

#include "core/history_text.hpp"

#include <algorithm>

namespace sagabox::memory {

void note_failure(Slot& slot, const spi::Settlement& item, WallTime now) {
  amend(slot, [&](FailureState& failure_state) {
    failure_state.code = item.code;
    failure_state.error = item.error;
    if (!item.note.empty()) {
      failure_state.note = item.note;
      failure_state.history.clear();
      failure_state.failed_for_good = std::max(failure_state.failed_for_good, item.attempts);
      return;
    }
    if (item.attempts <= failure_state.failed_for_good) return;
    add_failure(failure_state.history, {item.attempts, now, item.code, item.error});
    // A recorded attempt may still be running: its final result replaces this one.
    if (item.verdict != spi::Verdict::attempt) failure_state.failed_for_good = item.attempts;
  });
}

}  // namespace sagabox::memory
