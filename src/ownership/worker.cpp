#include "ownership/worker.hpp"

#include "core/text.hpp"
#include "observe/metric_names.hpp"
#include "ownership/worker_id.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace sagabox::ownership {

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

/// Whether shards of this scope are released as they become idle. A hanging scope is not waited
/// for.
template <class ScopeState>
bool is_left(const ScopeState& scope, bool stopping) {
  const auto& wishes = *scope.wishes;
  return (stopping || wishes.wish() != Wish::take_part) && !wishes.hanging.load();
}

}  // namespace

WorkerOptions WorkerOptions::for_lease(Duration lease) {
  const WorkerOptions defaults;
  WorkerOptions options;
  options.lease = lease;
  options.lease_margin = lease / (defaults.lease / defaults.lease_margin);
  options.renew_interval = lease / (defaults.lease / defaults.renew_interval);
  options.census_interval = lease / (defaults.lease / defaults.census_interval);
  options.drain_poll_interval = std::min(defaults.drain_poll_interval, options.census_interval);
  return options;
}

Status WorkerOptions::check() const {
  const auto wrong = [](std::string message) {
    return Status(Error{Code::config_invalid, std::move(message)});
  };
  if (lease_margin <= Duration::zero() || lease_margin >= lease) {
    return wrong("lease_margin " + duration_text(lease_margin) +
                 ": must be above 0 and below the lease of " + duration_text(lease));
  }
  if (renew_interval <= Duration::zero() || renew_interval >= lease - lease_margin) {
    return wrong("renew_interval " + duration_text(renew_interval) +
                 ": must be above 0 and below lease - lease_margin, " +
                 duration_text(lease - lease_margin));
  }
  if (census_interval <= Duration::zero() || drain_poll_interval <= Duration::zero()) {
    return wrong("census_interval and drain_poll_interval must be above 0");
  }
  return {};
}

Worker::Worker(WorkerParts parts, std::vector<ScopeOptions> scopes, WorkerOptions options)
    : parts_(std::move(parts)),
      options_(options),
      errors_(parts_.metrics),
      expired_total_(parts_.metrics.counter(metric::ownership_lease_expired_total, Labels{})),
      live_until_(BootTime::min().time_since_epoch().count()),
      lease_wanted_(options.lease.count()),
      id_(new_worker_id(parts_.ids, parts_.name)) {
  if (const auto checked = options_.check(); !checked.ok()) {
    throw std::invalid_argument(checked.error().message);
  }
  for (ScopeOptions& scope : scopes) add(std::move(scope));
  apply_changes();
}

std::optional<Request> Worker::plan(BootTime now) {
  if (awaiting_reply_) throw std::logic_error("Worker::plan: the last request wants its apply");
  now_ = now;
  apply_changes();
  handle_notes();
  for (;;) {
    take_stock();
    end_joining();
    const Action action = decide(view(now));
    if (std::holds_alternative<Wait>(action)) return std::nullopt;
    if (auto request = act(action)) {
      awaiting_reply_ = true;
      return request;
    }
  }
}

Reply Worker::perform(const Request& request) const {
  auto& store = parts_.store;
  const auto name = [&](std::size_t scope) -> const spi::Scope& {
    return scopes_[scope]->shards.options().scope;
  };
  return std::visit(
      Overloaded{
          [&](const Request::Join& call) -> Reply {
            return store.join(request.worker, options_.lease, call.scopes, call.shards);
          },
          [&](const Request::Renew&) -> Reply {
            return store.renew(request.worker, options_.lease);
          },
          [&](const Request::Census& call) -> Reply { return store.census(name(call.scope)); },
          [&](const Request::Take& call) -> Reply {
            return store.take(name(call.scope), request.worker, call.shards_max);
          },
          [&](const Request::Release& call) -> Reply {
            return store.release(name(call.scope), request.worker, call.shards);
          },
          [&](const Request::Withdraw& call) -> Reply {
            return store.withdraw(request.worker, call.scopes);
          },
          [&](const Request::Leave&) -> Reply { return store.leave(request.worker); },
      },
      request.call);
}

void Worker::apply(const Request& request, Reply reply, BootTime now) {
  awaiting_reply_ = false;
  now_ = now;
  std::visit(
      [&](const auto& answer) {
        if (!answer.ok()) errors_.count(answer.error().code);
      },
      reply);
  handle_notes();
  if (now >= lease_ends_) lease_expired("it was not renewed in time");
  if (request.worker != id_) return;
  std::visit(
      Overloaded{
          [&](const Request::Join&) {
            apply_join(request, std::get<Result<spi::LeaseReply>>(reply));
          },
          [&](const Request::Renew&) {
            apply_renew(request, std::get<Result<spi::LeaseReply>>(reply));
          },
          [&](const Request::Census& call) {
            apply_census(*scopes_[call.scope], std::get<Result<spi::Census>>(std::move(reply)));
          },
          [&](const Request::Take& call) {
            apply_take(*scopes_[call.scope], std::get<Result<std::vector<spi::OwnedShard>>>(reply));
          },
          [&](const Request::Release& call) {
            apply_release(*scopes_[call.scope], call, std::get<Status>(reply));
          },
          [&](const Request::Withdraw& call) { apply_withdraw(call, std::get<Status>(reply)); },
          [&](const Request::Leave&) { apply_leave(std::get<Status>(reply)); },
      },
      request.call);
}

BootTime Worker::next_due() const {
  {
    const std::scoped_lock lock(mutex_);
    if (!notes_.empty() || !added_.empty()) return now_;
  }
  const Action action = decide(view(now_));
  if (const auto* wait = std::get_if<Wait>(&action)) return wait->until;
  return now_;
}

bool Worker::step() {
  const auto request = plan(parts_.clock.boot_now());
  if (!request) return false;
  auto reply = perform(*request);
  apply(*request, std::move(reply), parts_.clock.boot_now());
  return true;
}

WorkerId Worker::id() const {
  const std::scoped_lock lock(mutex_);
  return id_;
}

void Worker::timeline_changed(std::optional<Timeline> seen) { note(TimelineNote{seen}); }

void Worker::shard_lost(const spi::Scope& scope, Shard shard, std::optional<Epoch> epoch) {
  note(LostNote{scope, shard, epoch});
}

View Worker::view(BootTime now) const {
  View view{
      .state = state_,
      .worker = id_,
      .now = now,
      .lease_ends = lease_ends_,
      .renew_at = renew_at_,
      .lease_retry_at = lease_backoff_.retry_at,
      .join_sent = join_sent_,
      .leaves_failed = leaves_failed_,
      .stopping = stopping_.load(std::memory_order_acquire),
      .pausing = std::ranges::none_of(
          scopes_, [](const auto& scope) { return scope->wishes->wish() == Wish::take_part; }),
      .withdrawn = withdrawn_,
      .abandoning = abandoning_.load(std::memory_order_acquire),
      .drain_poll_interval = options_.drain_poll_interval,
      .scope_first = scope_first_,
      .scopes = {}};
  view.scopes.reserve(scopes_.size());
  bool all_abandoned = !scopes_.empty();
  for (const auto& scope : scopes_) {
    const auto& wishes = *scope->wishes;
    const bool abandoning = wishes.hanging.load() || wishes.abandoning.load();
    all_abandoned = all_abandoned && wishes.abandoning.load();
    view.scopes.push_back({.shards = scope->shards.options().shards,
                           .share = scope->shards.options().share,
                           .held = scope->shards.view(),
                           .release_unanswered = !scope->shards.unanswered().empty(),
                           .census = scope->census ? &*scope->census : nullptr,
                           .take_tried = scope->take_tried,
                           .count_at = scope->count_at,
                           .retry_at = scope->backoff.retry_at,
                           .failing = scope->backoff.failures > 0,
                           .wish = wishes.wish(),
                           .membership = scope->membership,
                           .abandoning = abandoning});
  }
  view.abandoning = view.abandoning || all_abandoned;
  return view;
}

std::optional<Request> Worker::act(const Action& action) {
  const auto turn = [&](std::size_t scope) { scope_first_ = scope + 1; };
  return std::visit(
      Overloaded{
          [&](const Wait&) -> std::optional<Request> { return std::nullopt; },
          [&](const Expire&) -> std::optional<Request> {
            lease_expired("it was not renewed in time");
            return std::nullopt;
          },
          [&](const StartDrain& drain) -> std::optional<Request> {
            scopes_[drain.scope]->shards.drain(drain.shard);
            for (auto& scope : scopes_) {
              if (!is_left(*scope, stopping())) continue;
              for (const HeldView& held : scope->shards.view()) scope->shards.drain(held.shard);
            }
            return std::nullopt;
          },
          [&](const Abandon& given) -> std::optional<Request> {
            const bool hangs = scopes_[given.scope]->wishes->hanging.load();
            scopes_[given.scope]->shards.abandon(hangs ? "a call of the store hangs"
                                                       : "busy at the end of the stop");
            return std::nullopt;
          },
          [&](const GoAway&) -> std::optional<Request> {
            go_away();
            return std::nullopt;
          },
          [&](const ComeBack&) -> std::optional<Request> {
            come_back();
            return std::nullopt;
          },
          [&](const Finish&) -> std::optional<Request> {
            finish();
            return std::nullopt;
          },
          [&](const Join& first) -> std::optional<Request> { return join(first.scope); },
          [&](const Renew&) -> std::optional<Request> { return ask(Request::Renew{}); },
          [&](const Count& count) -> std::optional<Request> {
            turn(count.scope);
            return ask(Request::Census{count.scope});
          },
          [&](const Take& take) -> std::optional<Request> {
            turn(take.scope);
            return ask(Request::Take{take.scope, take.shards_max});
          },
          [&](const Release& given) -> std::optional<Request> {
            turn(given.scope);
            return release(given);
          },
          [&](const Withdraw& from) -> std::optional<Request> { return withdraw(from.scope); },
          [&](const Leave&) -> std::optional<Request> { return leave(); },
      },
      action);
}

Request Worker::ask(decltype(Request::call) call) const { return {id_, now_, std::move(call)}; }

Request Worker::join(std::size_t first) {
  join_sent_ = true;
  withdrawn_ = false;
  scope_first_ = first + 1;
  const ScopeState& leads = *scopes_[first];
  Request::Join join{.scopes = {}, .shards = leads.shards.options().shards};
  for (const auto& scope : scopes_) {
    const bool together = !scope->join_alone && !leads.join_alone &&
                          scope->shards.options().shards == join.shards &&
                          scope->wishes->wish() == Wish::take_part &&
                          scope->membership != Membership::in && scope->backoff.retry_at <= now_;
    if (scope.get() != &leads && !together) continue;
    scope->membership = Membership::unknown;
    join.scopes.push_back(scope->shards.options().scope);
  }
  return ask(std::move(join));
}

Request Worker::withdraw(std::optional<std::size_t> scope) {
  Request::Withdraw withdraw;
  for (std::size_t i = 0; i < scopes_.size(); ++i) {
    // Include other scopes that wait for a withdrawal: one call, even if many tables stop together.
    const bool along = scopes_[i]->wishes->wish() != Wish::take_part &&
                       scopes_[i]->membership != Membership::out &&
                       scopes_[i]->backoff.retry_at <= now_;
    if (scope && *scope != i && !along) continue;
    scopes_[i]->membership = Membership::unknown;
    withdraw.scopes.push_back(scopes_[i]->shards.options().scope);
  }
  // A withdrawal from all scopes is tried once: if it fails, others take the shards after this
  // worker has left.
  withdrawn_ = withdrawn_ || !scope;
  return ask(std::move(withdraw));
}

Request Worker::release(const Release& action) {
  HeldShards& shards = scopes_[action.scope]->shards;
  shards.give_away(action.shards);
  // Do the same for all scopes that are being left: the store is called for one after the other,
  // and shards that wait for this must not become busy, or unclean, in the meantime.
  for (auto& scope : scopes_) {
    if (!is_left(*scope, stopping())) continue;
    std::vector<Shard> idle;
    for (const HeldView& held : scope->shards.view()) {
      if (held.idle) idle.push_back(held.shard);
    }
    if (!idle.empty()) scope->shards.give_away(idle);
  }
  return ask(Request::Release{action.scope, shards.unanswered()});
}

Request Worker::leave() {
  // Others may take over as soon as the store processes the call.
  publish_lease(BootTime::min());
  for (const auto& scope : scopes_) scope->shards.lose_all("busy at the end of the stop");
  state_ = State::leaving;
  lease_ends_ = BootTime::max();
  return ask(Request::Leave{});
}

void Worker::note(Note note) {
  const std::scoped_lock lock(mutex_);
  if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(std::move(note));
}

void Worker::handle_notes() {
  std::vector<Note> notes;
  {
    const std::scoped_lock lock(mutex_);
    notes.swap(notes_);
  }
  const Overloaded handle{
      [&](const TimelineNote& changed) {
        const bool takes_part = state_ == State::joining || state_ == State::active;
        if (takes_part && timeline_ && changed.seen != timeline_) {
          start_over("the database has another timeline");
        }
      },
      [&](const LostNote& lost) {
        if (ScopeState* scope = find(lost.scope)) {
          scope->shards.lose(lost.shard, lost.epoch, "a settle found its fence broken");
        }
      }};
  for (const Note& note : notes) std::visit(handle, note);
}

void Worker::lease_expired(std::string_view why) {
  expired_total_.increment();
  parts_.log.log(LogLevel::warning, "lease expired", {{"worker", id_.view()}, {"why", why}});
  start_over("the lease expired");
}

void Worker::start_over(std::string_view why) {
  begin_anew(why);
  // Wait first, to limit the load on a store that keeps refusing this worker.
  lease_backoff_ = {.failures = 0, .retry_at = now_ + retry_delay_min};
  parts_.log.log(LogLevel::warning, "worker starts over", {{"worker", id_.view()}, {"why", why}});
}

void Worker::begin_anew(std::string_view why) {
  publish_lease(BootTime::min());
  for (const auto& scope : scopes_) {
    scope->shards.lose_all(why);
    scope->membership = Membership::out;
    scope->join_alone = false;
    scope->census.reset();
    scope->take_tried = false;
    scope->count_at = BootTime::min();
    scope->backoff = {};
  }
  {
    const auto id = new_worker_id(parts_.ids, parts_.name);
    const std::scoped_lock lock(mutex_);
    id_ = id;
  }
  state_ = State::joining;
  join_sent_ = false;
  withdrawn_ = false;
  lease_ends_ = BootTime::max();
  renew_at_ = BootTime::min();
  lease_backoff_ = {};
  leaves_failed_ = 0;
  timeline_.reset();
}

void Worker::go_away() {
  state_ = State::away;
  away_.store(true, std::memory_order_release);
  if (stopping_.load(std::memory_order_acquire)) return finish();
  const bool pauses = std::ranges::any_of(
      scopes_, [](const auto& scope) { return scope->wishes->wish() == Wish::stay_away; });
  parts_.log.log(LogLevel::info, pauses ? "worker paused" : "worker left",
                 {{"worker", id_.view()}});
}

void Worker::come_back() {
  away_.store(false, std::memory_order_release);
  begin_anew("it was away");
  parts_.log.log(LogLevel::info, "worker resumes", {{"worker", id_.view()}});
}

bool Worker::same_timeline(Timeline timeline) {
  if (!timeline_) timeline_ = timeline;
  if (*timeline_ == timeline) return true;
  start_over("the database has another timeline");
  return false;
}

void Worker::lease_from(BootTime asked) {
  lease_ends_ = asked + options_.lease - options_.lease_margin;
  renew_at_ = asked + options_.renew_interval;
}

void Worker::publish_lease(BootTime until) noexcept {
  live_until_.store(until.time_since_epoch().count(), std::memory_order_release);
}

void Worker::finish() {
  state_ = State::stopped;
  publish_lease(BootTime::min());
  stopped_.store(true, std::memory_order_release);
  parts_.log.log(LogLevel::info, "worker stopped", {{"worker", id_.view()}});
}

void Worker::failed(Backoff& backoff, std::string_view call, const Error& error) {
  const auto left = lease_ends_ == BootTime::max() ? Duration::max() : lease_ends_ - now_;
  ++backoff.failures;
  backoff.retry_at = now_ + retry_delay(backoff.failures, left);
  const auto text = error.text();
  parts_.log.log(backoff.failures == 1 ? LogLevel::warning : LogLevel::debug,
                 "ownership call failed",
                 {{"call", call},
                  {"error", std::string_view(text)},
                  {"failures", std::uint64_t{backoff.failures}}});
}

}  // namespace sagabox::ownership
