#include "ownership/worker.hpp"

#include <algorithm>
#include <utility>

/// How a worker processes the replies of the store.
namespace sagabox::ownership {

void Worker::apply_join(const Request& request, const Result<spi::LeaseReply>& reply) {
  const auto& join = std::get<Request::Join>(request.call);
  if (!reply.ok()) return join_refused(join, reply.error());
  if (!same_timeline(reply->timeline)) return;
  if (!reply->live) return lease_expired("the store gave none");
  succeeded(lease_backoff_);
  for (const auto& name : join.scopes) {
    ScopeState* scope = find(name);
    if (scope == nullptr) continue;
    scope->membership = Membership::in;
    succeeded(scope->backoff);
    // After a withdrawal, an earlier census is not valid any more.
    scope->census.reset();
  }
  if (state_ != State::joining) return;
  // The lease starts at the first join: it is not certain that later ones extend it.
  if (lease_ends_ == BootTime::max()) lease_from(request.asked);
  end_joining();
}

void Worker::end_joining() {
  if (state_ != State::joining || lease_ends_ == BootTime::max()) return;
  const bool more = std::ranges::any_of(scopes_, [&](const auto& scope) {
    return scope->wishes->wish() == Wish::take_part && scope->membership != Membership::in &&
           scope->backoff.retry_at <= now_;
  });
  if (more) return;
  state_ = State::active;
  publish_lease(lease_ends_);
  parts_.log.log(LogLevel::info, "worker joined", {{"worker", id_.view()}});
}

void Worker::join_refused(const Request::Join& join, const Error& error) {
  // A scope that the store refuses (it has a different number of shards) must not block the others.
  const bool refused = error.code == Code::config_invalid;
  const bool alone = join.scopes.size() == 1;
  if (!refused || !alone) failed(lease_backoff_, "join", error);
  for (const auto& name : join.scopes) {
    ScopeState* scope = find(name);
    if (scope == nullptr || !refused) continue;
    scope->join_alone = true;
    if (alone) failed(scope->backoff, "join", error);
  }
}

void Worker::apply_withdraw(const Request::Withdraw& withdraw, const Status& reply) {
  for (const auto& name : withdraw.scopes) {
    ScopeState* scope = find(name);
    if (scope == nullptr) continue;
    if (reply.ok()) {
      scope->membership = Membership::out;
      if (!withdrawn_) succeeded(scope->backoff);
    } else if (!withdrawn_) {
      failed(scope->backoff, "withdraw", reply.error());
    }
  }
}

void Worker::apply_renew(const Request& request, const Result<spi::LeaseReply>& reply) {
  if (!reply.ok()) return failed(lease_backoff_, "renew", reply.error());
  if (!same_timeline(reply->timeline)) return;
  if (!reply->live) return lease_expired("it had run out by the store's clock");
  succeeded(lease_backoff_);
  lease_from(request.asked);
  publish_lease(lease_ends_);
}

void Worker::apply_census(ScopeState& scope, Result<spi::Census> reply) {
  if (!reply.ok()) return failed(scope.backoff, "census", reply.error());
  if (!same_timeline(reply->timeline)) return;
  if (std::ranges::find(reply->live, id_) == reply->live.end()) {
    // The lease may have expired, or only this scope does not know this worker any more: joining
    // again shows which.
    scope.shards.abandon("the store does not count us among the live");
    scope.membership = Membership::unknown;
    return;
  }
  succeeded(scope.backoff);
  scope.shards.reconcile(*reply, id_);
  scope.census = std::move(reply).value();
  scope.take_tried = false;
  scope.count_at = now_ + options_.census_interval;
}

void Worker::apply_take(ScopeState& scope, const Result<std::vector<spi::OwnedShard>>& reply) {
  scope.take_tried = true;
  if (!reply.ok()) {
    // The take may have happened anyway: a census shows it.
    scope.count_at = now_;
    return failed(scope.backoff, "take", reply.error());
  }
  succeeded(scope.backoff);
  scope.shards.acquire(*reply, id_, *timeline_);
}

void Worker::apply_release(ScopeState& scope, const Request::Release& release,
                           const Status& reply) {
  if (!reply.ok()) return failed(scope.backoff, "release", reply.error());
  succeeded(scope.backoff);
  scope.shards.released(release.shards);
}

void Worker::apply_leave(const Status& reply) {
  if (reply.ok()) return go_away();
  ++leaves_failed_;
  failed(lease_backoff_, "leave", reply.error());
}

}  // namespace sagabox::ownership
