#include "stores/memory/trouble.hpp"

#include "core/history_text.hpp"

#include <algorithm>

namespace sagabox::memory {

void note_failure(Slot& slot, const spi::Settlement& item, WallTime now) {
  amend(slot, [&](Trouble& trouble) {
    trouble.code = item.code;
    trouble.error = item.error;
    if (!item.note.empty()) {
      trouble.note = item.note;
      trouble.history.clear();
      trouble.failed_for_good = std::max(trouble.failed_for_good, item.attempts);
      return;
    }
    if (item.attempts <= trouble.failed_for_good) return;
    add_failure(trouble.history, {item.attempts, now, item.code, item.error});
    // A recorded attempt may still be running: its final result replaces this one.
    if (item.verdict != spi::Verdict::attempt) trouble.failed_for_good = item.attempts;
  });
}

}  // namespace sagabox::memory
