#include "runtime/registration.hpp"

#include <utility>

namespace sagabox::runtime {
namespace {

/// The time for the last calls of the store, after the limit of the hand-over.
constexpr Duration leave_timeout = std::chrono::milliseconds(2000);

}  // namespace

void Registration::hand_over(BootTime limit, const std::function<void()>& at_limit) {
  runtime_->begin_removal(id_);
  if (handed_over_by(limit)) return;
  if (at_limit) at_limit();
  runtime_->abandon(id_);
  (void)handed_over_by(limit + leave_timeout);
}

bool Registration::handed_over_by(BootTime limit) {
  while (!runtime_->handed_over(id_)) {
    if (runtime_->parts().clock->boot_now() >= limit) return false;
    runtime_->await_worker();
  }
  return true;
}

void Registration::end() {
  if (!std::exchange(ended_, true)) runtime_->end(id_);
}

}  // namespace sagabox::runtime
