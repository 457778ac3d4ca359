#include "ownership/decide.hpp"

#include <algorithm>
#include <optional>

namespace sagabox::ownership {

std::uint16_t quota(Share share, std::uint16_t shards, std::span<const WorkerId> live,
                    const WorkerId& worker) {
  if (std::ranges::find(live, worker) == live.end()) return 0;
  if (share == Share::all) return shards;
  const auto rank = static_cast<std::size_t>(
      std::ranges::count_if(live, [&](const WorkerId& other) { return other < worker; }));
  return static_cast<std::uint16_t>(shards / live.size() + (rank < shards % live.size() ? 1 : 0));
}

std::uint16_t takeable(const spi::Census& census) {
  return static_cast<std::uint16_t>(
      std::ranges::count_if(census.shards, [&](const spi::ShardOwner& shard) {
        return shard.owner.empty() ||
               std::ranges::find(census.live, shard.owner) == census.live.end();
      }));
}

Duration retry_delay(std::uint32_t failures, Duration lease_left) {
  constexpr std::uint32_t doublings_max = 8;
  constexpr int attempts_in_lease = 4;
  const auto doublings = std::min(failures == 0 ? 0 : failures - 1, doublings_max);
  const auto delay = std::min(retry_delay_min * (1U << doublings), retry_delay_max);
  return std::min(delay, std::max(lease_left / attempts_in_lease, retry_delay_floor));
}

namespace {

/// Decides step by step and keeps the earliest time at which something becomes due.
class Decision {
 public:
  explicit Decision(const View& view) : view_(view), until_(view.lease_ends) {}

  Action make() {
    switch (view_.state) {
      case State::stopped:
        return Wait{BootTime::max()};
      case State::leaving:
        return leave();
      case State::away:
        if (view_.stopping) return Finish{};
        if (!view_.pausing) return ComeBack{};
        return Wait{BootTime::max()};
      case State::joining:
        if (lease_over()) return Expire{};
        return join();
      case State::active:
        if (lease_over()) return Expire{};
        return work();
    }
    return Wait{until_};
  }

 private:
  [[nodiscard]] bool lease_over() const { return view_.now >= view_.lease_ends; }
  [[nodiscard]] bool retreating() const { return view_.stopping || view_.pausing; }

  bool due(BootTime when) {
    if (view_.now >= when) return true;
    until_ = std::min(until_, when);
    return false;
  }

  Action leave() {
    const auto attempts_max = view_.abandoning ? 1 : leave_attempts_max;
    if (view_.leaves_failed >= attempts_max) return GoAway{};
    if (due(view_.lease_retry_at)) return Leave{};
    return Wait{until_};
  }

  Action join() {
    if (retreating()) {
      if (view_.join_sent) return Leave{};
      return GoAway{};
    }
    for (std::size_t i = 0; i < view_.scopes.size(); ++i) {
      const auto index = (view_.scope_first + i) % view_.scopes.size();
      if (wants_in(view_.scopes[index]) && due(view_.scopes[index].retry_at) &&
          due(view_.lease_retry_at)) {
        return Join{index};
      }
    }
    return Wait{until_};
  }

  static bool wants_in(const ScopeView& scope) {
    return scope.wish == Wish::take_part && scope.membership != Membership::in;
  }

  Action work() {
    if (due(std::max(view_.renew_at, view_.lease_retry_at))) return Renew{};
    for (std::size_t i = 0; i < view_.scopes.size(); ++i) {
      if (view_.scopes[i].abandoning && !view_.scopes[i].held.empty()) return Abandon{i};
    }
    if (retreating()) return retreat();
    for (std::size_t i = 0; i < view_.scopes.size(); ++i) {
      if (auto action = share((view_.scope_first + i) % view_.scopes.size())) return *action;
    }
    return Wait{until_};
  }

  std::optional<Action> share(std::size_t index) {
    const ScopeView& scope = view_.scopes[index];
    if (scope.wish != Wish::take_part) return retreat_from(index);
    if (!due(scope.retry_at)) return std::nullopt;
    // Until the store counts this worker (again), a census would not list it. Draining shards are
    // still released.
    if (wants_in(scope) && due(view_.lease_retry_at)) return Join{index};
    if (auto release = release_idle(index)) return release;
    if (wants_in(scope)) return std::nullopt;
    // A census is used before the next one is requested, however slow the store is.
    if (scope.census != nullptr) {
      if (auto action = balance(index, *scope.census)) return action;
    }
    if (scope.census == nullptr || due(scope.count_at)) return Count{index};
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Action> balance(std::size_t index, const spi::Census& census) const {
    const ScopeView& scope = view_.scopes[index];
    const std::size_t wanted = quota(scope.share, scope.shards, census.live, view_.worker);
    const auto draining = static_cast<std::size_t>(
        std::ranges::count_if(scope.held, [](const HeldView& held) { return held.draining; }));
    if (scope.held.size() > wanted && draining == 0) {
      return StartDrain{index, scope.held.back().shard};
    }
    // Draining shards do not count as held: a slow drain must not delay the take-over of a dead
    // worker's shards.
    const std::size_t kept = scope.held.size() - draining;
    if (kept < wanted && !scope.take_tried && takeable(census) > 0) {
      return Take{index, static_cast<std::uint16_t>(wanted - kept)};
    }
    return std::nullopt;
  }

  /// Leaves one scope while the worker takes part in others.
  std::optional<Action> retreat_from(std::size_t index) {
    const ScopeView& scope = view_.scopes[index];
    for (const HeldView& held : scope.held) {
      if (!held.draining) return StartDrain{index, held.shard};
    }
    if (!due(scope.retry_at)) return std::nullopt;
    // Others take the released shards only if this worker is not counted any more.
    if (scope.membership != Membership::out) return Withdraw{index};
    return release_idle(index);
  }

  Action retreat() {
    for (std::size_t i = 0; i < view_.scopes.size(); ++i) {
      for (const HeldView& held : view_.scopes[i].held) {
        if (!held.draining) return StartDrain{i, held.shard};
      }
    }
    bool holds_something = false;
    for (std::size_t i = 0; i < view_.scopes.size(); ++i) {
      const ScopeView& scope = view_.scopes[i];
      if (view_.abandoning && scope.failing) continue;
      holds_something = holds_something || scope.release_unanswered || !scope.held.empty();
      if (!due(scope.retry_at)) continue;
      if (auto release = release_idle(i)) return *release;
    }
    if (!holds_something || view_.abandoning) return Leave{};
    // Others take the released shards only if this worker is not counted any more.
    if (!view_.withdrawn) return Withdraw{std::nullopt};
    return Wait{until_};
  }

  std::optional<Action> release_idle(std::size_t index) {
    const ScopeView& scope = view_.scopes[index];
    Release release{index, {}};
    for (const HeldView& held : scope.held) {
      if (!held.draining) continue;
      if (held.idle) {
        release.shards.push_back(held.shard);
      } else {
        until_ = std::min(until_, view_.now + view_.drain_poll_interval);
      }
    }
    if (release.shards.empty() && !scope.release_unanswered) return std::nullopt;
    return release;
  }

  const View& view_;
  BootTime until_;
};

}  // namespace

Action decide(const View& view) { return Decision(view).make(); }

}  // namespace sagabox::ownership
