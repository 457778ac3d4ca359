#include "assembly/switching_sink.hpp"

#include <utility>

namespace sagabox::assembly {
namespace {

constexpr Duration again_after = std::chrono::seconds(1);

}  // namespace

void SwitchingSink::change(std::shared_ptr<Router> next) {
  const std::scoped_lock membership(membership_);
  std::shared_ptr<Router> old;
  {
    const std::unique_lock lock(mutex_);
    changing_ = true;
    old = current_;
  }
  wait_until_outside();
  for (auto* const member : members_) old->leave(*member);
  for (auto* const member : members_) next->join(*member);
  {
    const std::unique_lock lock(mutex_);
    current_ = next;
    changes_.fetch_add(1);
  }
  // Messages that arrive while these are passed on are held behind them.
  for (auto held = take_held(); !held.empty(); held = take_held()) {
    for (auto& one : held) next->deliver(std::span(&one.dispatch, 1), *one.results);
  }
  for (auto* const member : members_) member->opened();
}

std::vector<SwitchingSink::Held> SwitchingSink::take_held() {
  const std::unique_lock lock(mutex_);
  changing_ = !held_.empty();
  return std::exchange(held_, {});
}

void SwitchingSink::wait_until_outside() {
  std::unique_lock lock(inside_mutex_);
  went_outside_.wait(lock, [this] { return inside_ == 0; });
}

void SwitchingSink::outside() {
  {
    const std::scoped_lock lock(inside_mutex_);
    --inside_;
  }
  went_outside_.notify_all();
}

std::shared_ptr<Router> SwitchingSink::router() const {
  const std::shared_lock lock(mutex_);
  return current_;
}

std::size_t SwitchingSink::held() const {
  const std::shared_lock lock(mutex_);
  return held_.size();
}

std::optional<spi::ClassId> SwitchingSink::class_of(const Message& message) const {
  const std::shared_lock lock(mutex_);
  return current_->class_of(message);
}

bool SwitchingSink::closed(spi::ClassId id) const {
  const std::shared_lock lock(mutex_);
  return current_->closed(id);
}

bool SwitchingSink::samples(spi::ClassId id) const {
  const std::shared_lock lock(mutex_);
  return current_->samples(id);
}

bool SwitchingSink::takes(const Message& message) const {
  const std::shared_lock lock(mutex_);
  return current_->takes(message);
}

std::uint32_t SwitchingSink::attempts_max(std::uint32_t of_table) const {
  return router()->attempts_max(of_table);
}

void SwitchingSink::join(spi::DispatchResults& results) {
  const std::scoped_lock membership(membership_);
  members_.push_back(&results);
  router()->join(results);
}

void SwitchingSink::deliver(std::span<spi::Dispatch> dispatches, spi::DispatchResults& results) {
  std::shared_ptr<Router> to;
  {
    const std::shared_lock lock(mutex_);
    if (!changing_) {
      to = current_;
      const std::scoped_lock inside(inside_mutex_);
      ++inside_;
    }
  }
  if (to) {
    to->deliver(dispatches, results);
    return outside();
  }
  {
    const std::unique_lock lock(mutex_);
    if (changing_) {
      for (auto& dispatch : dispatches) held_.push_back({std::move(dispatch), &results});
      return;
    }
  }
  // The change has ended meanwhile.
  deliver(dispatches, results);
}

void SwitchingSink::recall(spi::DispatchResults& results, Shard shard) {
  std::vector<Held> recalled;
  {
    const std::unique_lock lock(mutex_);
    std::vector<Held> kept;
    for (auto& held : held_) {
      const bool meant = held.results == &results && held.dispatch.shard == shard;
      (meant ? recalled : kept).push_back(std::move(held));
    }
    held_ = std::move(kept);
  }
  for (const auto& [dispatch, to] : recalled) {
    auto result = spi::Dispatched{.outcome = retry_after(again_after, Attempt::not_spent),
                                  .deferred = class_of(*dispatch.message).has_value(),
                                  .done = dispatch.done};
    result.outcome.code = Code::provider_unavailable;
    result.outcome.error = "the routes are being changed";
    to->dispatched(dispatch.ticket, std::move(result));
  }
  router()->recall(results, shard);
}

void SwitchingSink::leave(spi::DispatchResults& results) {
  const std::scoped_lock membership(membership_);
  router()->leave(results);
  std::erase(members_, &results);
}

}  // namespace sagabox::assembly
