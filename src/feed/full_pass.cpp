#include "feed/full_pass.hpp"

#include <algorithm>

namespace sagabox::feed {

bool FullPassSchedule::begins(BootTime now, bool backlog) {
  if (!at_) at_ = now + options_.interval_min;
  // A pass is expensive: it may have to skip all rows that were settled since the last vacuum.
  const auto wait = backlog && !options_.finds_work ? patience * options_.interval_min : Duration{};
  if (running_ || now < *at_ + wait) return false;
  took_ = {};
  found_ = false;
  return true;
}

void FullPassSchedule::looked(BootTime now, bool open) {
  if (running_ && !open) {
    const auto rest = options_.finds_work && found_ ? Duration{} : time_share * took_;
    at_ = now + std::max(options_.interval_min, rest);
  }
  running_ = open;
}

}  // namespace sagabox::feed
