#include "stores/sqlite/wake.hpp"

#include <algorithm>

namespace sagabox::sqlite {

CommitSignal& Wake::signal(std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto& known = signals_[std::string(name)];
  if (!known) known = std::make_unique<CommitSignal>();
  return *known;
}

void Wake::look() {
  const auto version = writer_.version_of_others();
  if (!version) return;
  const std::lock_guard lock(mutex_);
  if (version_ == *version) return;
  version_ = *version;
  for (const auto& [table, signal] : signals_) signal->notify();
}

void Wake::wait(std::string_view name, Duration timeout) {
  CommitSignal& mine = signal(name);
  for (Duration left = timeout;; left -= interval_) {
    look();
    if (mine.wait(std::min(left, interval_)) || left <= interval_) return;
  }
}

}  // namespace sagabox::sqlite
