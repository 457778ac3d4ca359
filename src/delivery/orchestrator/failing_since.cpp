#include "delivery/orchestrator/failing_since.hpp"

#include <algorithm>

namespace sagabox::delivery {

FailingSince::FailingSince(const SubscriptionId& subscription, Duration longest)
    : subscription_(subscription), longest_(longest), asked_(std::min(recent, longest)) {}

void FailingSince::told(const spi::EndpointHealth& health, WallTime now) {
  if (failed_) {
    // More than before if others have failed meanwhile.
    (health.failed >= *failed_ ? hi_ : lo_) = asked_;
    return halve(now);
  }
  if (asked_ < longest_ && !shortened_) {
    done_ = health.completed > 0;
    asked_ = longest_;
    return;
  }
  told_all(health, now);
}

void FailingSince::told_all(const spi::EndpointHealth& health, WallTime now) {
  if (health.completed > 0 && health.last_completed_at) {
    // Only what failed after the last success counts.
    const auto since = Duration(now - *health.last_completed_at) - std::chrono::microseconds(1);
    done_ = shortened_ || since <= Duration{};
    shortened_ = true;
    asked_ = since;
    return;
  }
  failed_ = health.failed;
  hi_ = asked_;
  done_ = *failed_ <= 1;
  if (!done_) halve(now);
}

void FailingSince::halve(WallTime now) {
  if (halvings_++ < halvings_max) {
    asked_ = lo_ + (hi_ - lo_) / 2;
    return;
  }
  done_ = true;
  answer_ = now - std::chrono::floor<WallTime::duration>(lo_);
}

}  // namespace sagabox::delivery
