#include "stores/memory/trouble.hpp"

namespace sagabox::memory {
namespace {

void remember(std::vector<FailedAttempt>& history, FailedAttempt attempt) {
  std::erase_if(history,
                [&](const FailedAttempt& earlier) { return earlier.number == attempt.number; });
  if (history.size() == history_attempts_max) history.erase(history.begin());
  history.push_back(std::move(attempt));
}

}  // namespace

void note_failure(Slot& slot, const spi::Settlement& item, WallTime now) {
  amend(slot, [&](Trouble& trouble) {
    trouble.code = item.code;
    trouble.error = item.error;
    if (item.attempts <= trouble.failed_for_good) return;
    remember(trouble.history, {item.attempts, now, item.code, item.error});
    // One that only writes its attempt down is still under way: how it ends replaces this.
    if (item.verdict != spi::Verdict::attempt) trouble.failed_for_good = item.attempts;
  });
}

}  // namespace sagabox::memory
