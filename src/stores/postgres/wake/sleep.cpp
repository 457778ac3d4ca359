#include "stores/postgres/wake/sleep.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sagabox::postgres {
namespace {

using Ids = std::vector<TransactionId>;  // ascending

Ids both(const Ids& a, const Ids& b) {
  Ids out;
  std::ranges::set_intersection(a, b, std::back_inserter(out));
  return out;
}

Ids without(const Ids& a, const Ids& b) {
  Ids out;
  std::ranges::set_difference(a, b, std::back_inserter(out));
  return out;
}

}  // namespace

Sleep::Step Sleep::next(BootTime now, std::optional<std::uint64_t> listening) {
  if (!begun_at_) begun_at_ = now;
  if (++waits_without_look_ > waits_without_look_max) {
    const bool was_up = std::exchange(phase_, Phase::awake) != Phase::awake;
    return {was_up ? Act::lower_flag : Act::sleep, Duration::max()};
  }
  if (phase_ == Phase::awake || listening != listening_) {
    if (now - found_at_.value_or(*begun_at_) < awake_for) return {Act::look, look_interval};
    // Without a listening session, only polling is left.
    return listening ? Step{Act::raise_flag, {}} : Step{Act::sleep, Duration::max()};
  }
  if (phase_ == Phase::falling) return {Act::look, look_interval};
  const auto again = raised_at_ + flag_interval_;
  if (now >= again) return {Act::raise_flag, {}};
  return {Act::sleep, again - now};
}

void Sleep::raised(BootTime now, std::uint64_t listening) {
  raised_at_ = now;
  if (phase_ != Phase::awake && listening == listening_) return;
  listening_ = listening;
  phase_ = Phase::falling;
  falling_since_ = now;
  open_.reset();
}

bool Sleep::looked(BootTime now, const spi::Horizon& unseen, std::size_t rows) {
  waits_without_look_ = 0;
  if (phase_ == Phase::falling) wait_for_open(now, unseen);
  if (rows == 0) return false;
  const bool load = rows >= load_rows || (found_at_ && now - *found_at_ < load_within);
  found_at_ = now;
  if (!load || phase_ == Phase::awake) return false;
  phase_ = Phase::awake;
  return true;
}

void Sleep::wait_for_open(BootTime now, const spi::Horizon& unseen) {
  given_up_ = both(given_up_, unseen.in_progress);
  open_ = open_ ? both(*open_, unseen.in_progress) : without(unseen.in_progress, given_up_);
  if (!open_->empty() && now - falling_since_ < open_transactions_max) return;
  phase_ = Phase::asleep;
  Ids all;
  std::ranges::set_union(given_up_, *open_, std::back_inserter(all));
  given_up_ = std::move(all);
}

}  // namespace sagabox::postgres
