#include "ownership/worker.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

/// Requests of other threads for the scopes of a worker, and their progress.
namespace sagabox::ownership {
namespace {

void require(bool condition, const std::string& rule) {
  if (!condition) throw std::invalid_argument(rule);
}

}  // namespace

void Worker::add(ScopeOptions scope) {
  const auto called = "scope " + scope.scope;
  require(scope.shards > 0, called + ": needs at least one shard");
  require(scope.holder != nullptr, called + ": needs a holder");
  const std::scoped_lock lock(mutex_);
  require(!wishes_.contains(scope.scope), called + ": named twice");
  wishes_.emplace(scope.scope, std::make_shared<Wishes>());
  added_.push_back(std::move(scope));
}

void Worker::remove(const spi::Scope& scope) {
  if (const auto wishes = wishes_of(scope)) wishes->leaving.store(true, std::memory_order_release);
}

void Worker::abandon(const spi::Scope& scope) {
  if (const auto wishes = wishes_of(scope)) {
    wishes->abandoning.store(true, std::memory_order_release);
  }
}

bool Worker::has(const spi::Scope& scope) const { return wishes_of(scope) != nullptr; }

bool Worker::quiet(const spi::Scope& scope) const {
  const auto wishes = wishes_of(scope);
  return wishes == nullptr || wishes->quiet.load(std::memory_order_acquire);
}

void Worker::pause(const spi::Scope& scope) {
  if (const auto wishes = wishes_of(scope)) wishes->pausing.store(true, std::memory_order_release);
}

void Worker::resume(const spi::Scope& scope) {
  if (const auto wishes = wishes_of(scope)) wishes->pausing.store(false, std::memory_order_release);
}

bool Worker::paused(const spi::Scope& scope) const {
  const auto wishes = wishes_of(scope);
  return wishes != nullptr && wishes->pausing.load(std::memory_order_acquire) &&
         wishes->away.load(std::memory_order_acquire);
}

void Worker::set_hanging(const spi::Scope& scope, bool hangs) {
  if (const auto wishes = wishes_of(scope)) wishes->hanging.store(hangs, std::memory_order_release);
}

std::shared_ptr<Worker::Wishes> Worker::wishes_of(const spi::Scope& scope) const {
  const std::scoped_lock lock(mutex_);
  const auto known = wishes_.find(scope);
  return known == wishes_.end() ? nullptr : known->second;
}

Worker::ScopeState* Worker::find(const spi::Scope& scope) {
  const auto at = std::ranges::find_if(
      scopes_, [&](const auto& state) { return state->shards.options().scope == scope; });
  return at == scopes_.end() ? nullptr : at->get();
}

void Worker::apply_changes() {
  if (const Duration lease(lease_wanted_.load()); lease != options_.lease) {
    options_ = WorkerOptions::for_lease(lease);
    renew_at_ = BootTime::min();
  }
  const std::scoped_lock lock(mutex_);
  for (ScopeOptions& scope : added_) {
    auto wishes = wishes_.at(scope.scope);
    scopes_.push_back(std::make_unique<ScopeState>(
        HeldShards(std::move(scope), parts_.metrics, parts_.log), std::move(wishes)));
  }
  added_.clear();
}

void Worker::take_stock() {
  const bool gone = state_ == State::away || state_ == State::stopped;
  for (const auto& scope : scopes_) {
    const bool empty = !scope->shards.holds_any() && scope->shards.unanswered().empty();
    scope->wishes->away.store(empty && (gone || scope->membership == Membership::out),
                              std::memory_order_release);
    if (scope->wishes->wish() == Wish::leave && !scope->shards.holds_any()) {
      scope->wishes->quiet.store(true, std::memory_order_release);
    }
  }
  const std::scoped_lock lock(mutex_);
  std::erase_if(scopes_, [&](const auto& scope) {
    if (scope->wishes->wish() != Wish::leave || !scope->wishes->away.load()) return false;
    wishes_.erase(scope->shards.options().scope);
    return true;
  });
}

}  // namespace sagabox::ownership
