#include "outbox/dispatch/dispatcher.hpp"

#include "observe/metric_names.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sagabox::outbox {
namespace {

/// After this time a transaction loses its reservation on the hot path; the poller finds its rows.
constexpr Duration reservation_expiry = std::chrono::seconds(60);

/// The most messages in one call of the sink.
constexpr std::size_t sends_max = 64;

/// The topic text is prefetched this many messages ahead.
constexpr std::size_t topics_ahead = 8;
void fetch_early(const void* address) { __builtin_prefetch(address); }

/// A message whose attempt was written before its route was found to be gone waits so long.
constexpr Duration without_route_delay = std::chrono::seconds(1);

Outcome without_route(std::string error) {
  auto outcome = retry_after(without_route_delay, Attempt::not_spent);
  outcome.code = Code::tx_unroutable;
  outcome.error = std::move(error);
  return outcome;
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

bool Runner::timed_out() const { return state_.load() == State::told; }

bool Runner::watch() {
  auto found = State::running;
  while (!state_.compare_exchange_strong(found, State::watched)) {
    if (found != State::watched) return false;
    state_.wait(State::watched);
    found = State::running;
  }
  return true;
}

void Runner::release(State state) {
  state_.store(state);
  state_.notify_all();
}

std::optional<Runner::State> Runner::look() {
  for (auto found = state_.load();; found = state_.load()) {
    if (found == State::watched) {
      state_.wait(State::watched);
    } else if (found != State::running && found != State::told) {
      return std::nullopt;
    } else if (state_.compare_exchange_strong(found, State::watched)) {
      return found;
    }
  }
}

bool Runner::end() {
  for (auto found = state_.load();; found = state_.load()) {
    if (found == State::watched) {
      state_.wait(State::watched);
    } else if (state_.compare_exchange_strong(found, State::ending)) {
      return found != State::told;
    }
  }
}

Dispatcher::Instruments::Instruments(Metrics& metrics, std::string_view table)
    : hot(metrics.counter(metric::outbox_hot_enqueued_total, {{"table", table}})),
      hot_dropped(metrics.counter(metric::outbox_hot_dropped_total, {{"table", table}})),
      latency(metrics.histogram(metric::outbox_latency_seconds, {{"table", table}})),
      errors(metrics),
      read(&metrics != &no_metrics()) {}

Dispatcher::Dispatcher(Parts parts)
    : parts_(parts),
      judgement_{.retry = parts.options.retry, .head_policy = parts.options.head_policy},
      invoker_(parts.registry, parts.options.interceptors, parts.options.error_bytes_max,
               *parts.options.log),
      instruments_(*parts.options.metrics, parts.table.str()),
      queues_(parts.options.hot_capacity, parts.options.cold_rows_max()) {
  for (std::uint32_t number = 0; number < parts.options.workers + parts.options.spare_workers_max;
       ++number) {
    runners_.push_back(std::make_unique<Runner>());
  }
}

void Dispatcher::accept(ShardState::Taken& taken) {
  for (const auto& buried : taken.buried) report_buried(buried);
  find_routes(taken.ready);
  for (auto& entry : taken.ready) queues_.push(std::move(entry));
  if (taken.ready.size() == 1) work_wakeup_.notify_one();
  if (taken.ready.size() > 1) work_wakeup_.notify_all();
  if (taken.cautious.empty()) return;
  {
    const std::scoped_lock lock(cautious_mutex_);
    for (auto& entry : taken.cautious) cautious_.offer(std::move(entry));
  }
  let_cautious_go();
}

void Dispatcher::find_routes(std::vector<Entry>& entries) const {
  const Route* likely = nullptr;
  for (std::size_t at = 0; at < entries.size(); ++at) {
    if (at + topics_ahead < entries.size()) {
      fetch_early(entries[at + topics_ahead].message->topic().data());
    }
    likely = route(*entries[at].message, likely);
    entries[at].route = likely;
  }
}

void Dispatcher::queue(Entry entry) {
  if (entry.cautious) {
    {
      const std::scoped_lock lock(cautious_mutex_);
      cautious_.offer(std::move(entry));
    }
    return let_cautious_go();
  }
  queues_.push(std::move(entry));
  work_wakeup_.notify_one();
}

void Dispatcher::let_cautious_go() {
  for (;;) {
    std::optional<Entry> entry;
    {
      const std::scoped_lock lock(cautious_mutex_);
      entry = cautious_.next();
      if (!entry) return;
      cautious_.writing(*entry);
    }
    const bool wanted = parts_.shards.with(
        entry->shard, [&](ShardState& state) { return state.spend_ahead(*entry); });
    if (wanted) {
      parts_.shards.settlement_added(parts_.options.clock->boot_now());
      continue;
    }
    const std::scoped_lock lock(cautious_mutex_);
    // Skip it if its shard was dropped in the meantime, which removed the entry already.
    if (!cautious_.written(entry->shard, entry->sequence, entry->tenure)) continue;
    cautious_.finished();
    parts_.room.release(*entry);
  }
}

void Dispatcher::attempt_written(Shard shard, Sequence sequence, std::uint32_t tenure) {
  std::optional<Entry> entry;
  {
    const std::scoped_lock lock(cautious_mutex_);
    entry = cautious_.written(shard, sequence, tenure);
  }
  if (!entry) return;
  queues_.push(std::move(*entry));
  work_wakeup_.notify_one();
}

void Dispatcher::attempt_refused(const spi::Settlement& park, std::uint32_t tenure) {
  std::optional<Entry> entry;
  {
    const std::scoped_lock lock(cautious_mutex_);
    entry = cautious_.written(park.shard, park.sequence, tenure);
  }
  if (!entry) return;
  parts_.room.release(*entry);
  const bool parked = parts_.shards.with(entry->shard, [&](ShardState& state) {
    return state.park_unstarted(
        *entry,
        {.settlement = park, .tenure = tenure, .holds_place = false, .replayed = entry->replayed});
  });
  if (parked) parts_.shards.settlement_added(parts_.options.clock->boot_now());
  cautious_finished();
}

void Dispatcher::cautious_finished() {
  {
    const std::scoped_lock lock(cautious_mutex_);
    cautious_.finished();
  }
  let_cautious_go();
}

void Dispatcher::dropped(Shard shard) {
  std::vector<Entry> entries;
  {
    const std::scoped_lock lock(cautious_mutex_);
    entries = cautious_.drop(shard);
  }
  for (const auto& entry : entries) parts_.room.release(entry);
  let_cautious_go();
}

std::optional<Epoch> Dispatcher::pop(Runner& runner, Entry& entry) {
  while (queues_.pop(entry, runner.turn_)) {
    parts_.room.release(entry);
    if (parts_.room.worth_reading(Source::cold)) parts_.shards.room_wakeup().notify_all();
    const auto epoch =
        parts_.shards.with(entry.shard, [&](ShardState& state) { return state.start(entry); });
    if (epoch) return epoch;
    if (entry.cautious) cautious_finished();
  }
  return std::nullopt;
}

Dispatcher::Took Dispatcher::take(Runner& runner, BootTime now) {
  auto& out = runner.outgoing_;
  auto took = Took::nothing;
  while (out.size() < sends_max && work_waits() && parts_.shards.live(now) &&
         parts_.shards.take_place()) {
    Entry entry;
    const auto epoch = pop(runner, entry);
    if (!epoch) {
      parts_.shards.free_places(1);
      break;
    }
    if (entry.route == nullptr) entry.route = route(*entry.message, runner.route_);
    if (entry.route == nullptr) {
      if (waits_for_route(entry)) {
        lost_its_route(entry, now);
        continue;
      }
      // A route that was added since the first look is the reason why it does not wait.
      entry.route = route(*entry.message, runner.route_);
    }
    if (entry.route == nullptr || entry.route->listener) {
      // Before the time of the handler starts.
      hand_over(out);
      begin(runner, std::move(entry), *epoch, now);
      took = Took::handler;
      break;
    }
    took = Took::sink;
    send(std::move(entry), *epoch, now, out);
  }
  hand_over(out);
  return took;
}

void Dispatcher::hand_over(std::vector<spi::Dispatch>& out) {
  if (out.empty()) return;
  parts_.options.sink->deliver(out, *this);
  out.clear();
}

void Dispatcher::send(Entry entry, Epoch epoch, BootTime now, std::vector<spi::Dispatch>& out) {
  const auto* const found = entry.route;
  const auto about = facts(entry, epoch, now);
  if (auto outcome = invoker_.enter(Delivery(about))) {
    auto settlement = judge(entry, *outcome, false, judgement_, *parts_.options.random);
    settlement.targets_done = entry.targets_done;
    return conclude({.entry = entry,
                     .route = found,
                     .started = now,
                     .settlement = std::move(settlement),
                     .error = outcome->error},
                    now, [] {});
  }
  auto dispatch = spi::Dispatch{.message = entry.message,
                                .table = &parts_.table,
                                .sequence = entry.sequence,
                                .shard = entry.shard,
                                .epoch = epoch,
                                .attempt = about.attempt,
                                .done = entry.targets_done,
                                .attempts_max = judgement_.retry.attempts_max,
                                .again = entry.was_waiting,
                                .sample = entry.sample,
                                .deadline = about.deadline};
  dispatch.ticket = flights_.add({.entry = std::move(entry), .facts = about, .started = now});
  out.push_back(std::move(dispatch));
}

void Dispatcher::dispatched(spi::Ticket ticket, spi::Dispatched result) noexcept {
  auto flight = flights_.take(ticket);
  // Ignore a second answer: another process may own the message by now.
  if (!flight) return;
  const auto now = parts_.options.clock->boot_now();
  auto& entry = flight->entry;
  auto& outcome = result.outcome;
  if (outcome.code == Code::tx_unroutable && waits_for_route(entry)) {
    outcome = without_route(std::move(outcome.error));
    result.deferred = !releases_claim(entry);
    result.done = entry.targets_done;
  }
  invoker_.leave(Delivery(flight->facts), outcome);
  // The attempt of a cautious message was stored in advance and must be taken back before it is
  // read again.
  if (result.deferred && !entry.cautious) {
    requeue(entry, now);
  } else {
    auto rules = judgement_;
    if (result.retry != nullptr) rules.retry = *result.retry;
    auto settlement = judge(entry, outcome, false, rules, *parts_.options.random);
    settlement.targets_done = result.done;
    conclude({.entry = entry,
              .route = entry.route,
              .started = flight->started,
              .settlement = std::move(settlement),
              .error = outcome.error},
             now, [] {});
  }
  flights_.landed();
}

void Dispatcher::opened() noexcept { parts_.reopen(); }

void Dispatcher::requeue(const Entry& entry, BootTime now) {
  auto completed =
      parts_.shards.with(entry.shard, [&](ShardState& state) { return state.requeue(entry); });
  follow(entry, std::move(completed), now);
}

bool Dispatcher::waits_for_route(const Entry& entry) const {
  return parts_.unrouted.waits_until(*entry.message, entry.available_at).has_value();
}

bool Dispatcher::releases_claim(const Entry& entry) const {
  return parts_.options.claim == ClaimMode::competing && !entry.message->has_key() &&
         !entry.was_waiting;
}

void Dispatcher::lost_its_route(const Entry& entry, BootTime now) {
  if (!entry.cautious && !releases_claim(entry)) return requeue(entry, now);
  const auto outcome = without_route(parts_.registry.unroutable(*entry.message));
  auto settlement = judge(entry, outcome, false, judgement_, *parts_.options.random);
  settlement.targets_done = entry.targets_done;
  conclude(
      {.entry = entry, .started = now, .settlement = std::move(settlement), .error = outcome.error},
      now, [] {});
}

Delivery::Facts Dispatcher::facts(const Entry& entry, Epoch epoch, BootTime now) const {
  return {.message = entry.message.get(),
          .table = &parts_.table,
          .sequence = entry.sequence,
          .shard = entry.shard,
          .epoch = epoch,
          .attempt = entry.attempts + 1,
          .deadline = now + parts_.options.dispatch_timeout};
}

void Dispatcher::begin(Runner& runner, Entry entry, Epoch epoch, BootTime now) {
  // A stop token that was not used can be reused.
  if (runner.stop_.stop_requested() || !runner.facts_.stop.stop_possible()) {
    runner.stop_ = std::stop_source();
    runner.facts_.stop = runner.stop_.get_token();
  }
  runner.started_ = now;
  runner.entry_ = std::move(entry);
  const auto& message = *runner.entry_.message;
  runner.route_ = runner.entry_.route;
  auto& facts = runner.facts_;
  facts.message = &message;
  facts.table = &parts_.table;
  facts.sequence = runner.entry_.sequence;
  facts.shard = runner.entry_.shard;
  facts.epoch = epoch;
  facts.attempt = runner.entry_.attempts + 1;
  facts.deadline = now + parts_.options.dispatch_timeout;
  runner.state_.store(Runner::State::running, std::memory_order_release);
}

Outcome Dispatcher::invoke(const Runner& runner) const noexcept {
  return invoker_.invoke(runner.delivery(), runner.route_);
}

void Dispatcher::complete(Runner& runner, Outcome outcome, BootTime now) {
  const bool timed_out = !runner.end();
  const auto& entry = runner.entry_;
  auto settlement = judge(entry, outcome, timed_out, judgement_, *parts_.options.random);
  conclude({.entry = entry,
            .route = runner.route_,
            .started = runner.started_,
            .settlement = std::move(settlement),
            .error = outcome.error,
            .counted = timed_out},
           now, [&] { runner.state_.store(Runner::State::idle, std::memory_order_release); });
  if (timed_out) overdue_.fetch_sub(1);
  runner.entry_.message.reset();
}

template <class Idle>
void Dispatcher::conclude(Ended ended, BootTime now, Idle&& idle) {
  const auto& entry = ended.entry;
  const auto& result = ended.settlement;
  const bool counted = ended.counted && result.code == Code::tx_timeout;
  if (result.verdict != spi::Verdict::done && !counted) instruments_.errors.count(result.code);
  report(ended, now);
  auto settling =
      Settling{.settlement = std::move(ended.settlement),
               .tenure = entry.tenure,
               .replayed = entry.replayed,
               .figures = ended.route != nullptr ? ended.route->figures.get() : nullptr};
  if (settling.settlement.verdict == spi::Verdict::dead) settling.dead = entry.message;
  auto completed = parts_.shards.with(entry.shard, [&](ShardState& state) {
    idle();
    return state.complete(entry, std::move(settling));
  });
  follow(entry, std::move(completed), now);
}

void Dispatcher::follow(const Entry& entry, ShardState::Completed completed, BootTime now) {
  if (completed.accepted) {
    parts_.shards.settlement_added(now);
  } else {
    parts_.shards.free_places(1);
  }
  if (completed.read_on) parts_.wake_reader();
  if (completed.next) queue(std::move(*completed.next));
  if (entry.cautious) cautious_finished();
}

std::size_t Dispatcher::running() const {
  const auto handlers = std::count_if(runners_.begin(), runners_.end(), [](const auto& runner) {
    return runner->state_.load() != Runner::State::idle;
  });
  return static_cast<std::size_t>(handlers) + flights_.count();
}

std::optional<OwnerView::InHand> Dispatcher::under_way(Shard shard, Sequence sequence) {
  const auto now = parts_.options.clock->boot_now();
  for (auto& runner : runners_) {
    const auto state = runner->look();
    if (!state) continue;
    const bool found = runner->entry_.shard == shard && runner->entry_.sequence == sequence;
    const auto started = runner->started_;
    runner->release(*state);
    if (!found) continue;
    const bool late = *state == Runner::State::told;
    return OwnerView::InHand{
        .with = late ? OwnerView::With::late_handler : OwnerView::With::handler,
        .since = now - started};
  }
  const auto sent = flights_.started(shard, sequence);
  if (!sent) return std::nullopt;
  return OwnerView::InHand{.with = OwnerView::With::target, .since = now - *sent};
}

std::size_t Dispatcher::check_deadlines(BootTime now) {
  std::size_t told = 0;
  for (auto& runner : runners_) {
    if (!runner->watch()) continue;
    if (now <= runner->facts_.deadline) {
      runner->release(Runner::State::running);
      continue;
    }
    runner->stop_.request_stop();
    ++told;
    overdue_.fetch_add(1);
    instruments_.errors.count(Code::tx_timeout);
    const auto& entry = runner->entry_;
    if (runner->route_ != nullptr) runner->route_->figures->timeouts.increment();
    parts_.options.log->log(LogLevel::warning, "handler is past its deadline and was told to stop",
                            {{"table", std::string_view(parts_.table.str())},
                             {"topic", std::string_view(entry.message->topic())},
                             {"message", entry.message->id().view()},
                             {"tenant", std::string_view(entry.message->tenant())},
                             {"sequence", entry.sequence.value},
                             {"attempts", std::uint64_t{entry.attempts + 1}}});
    const bool noted = parts_.shards.with(entry.shard, [&](ShardState& state) {
      if (state.tenure() != entry.tenure) return false;
      state.settle_beside(
          {.settlement = spent_attempt(entry, Code::tx_timeout, "past its deadline, still running"),
           .tenure = entry.tenure,
           .holds_place = false});
      return true;
    });
    if (noted) parts_.shards.settlement_added(now);
    runner->release(Runner::State::told);
  }
  return told;
}

void Dispatcher::tell_all_to_stop() {
  for (auto& runner : runners_) {
    if (!runner->watch()) continue;
    runner->stop_.request_stop();
    runner->release(Runner::State::running);
  }
}

std::optional<Reservation> Dispatcher::reserve(const Written& written,
                                               std::shared_ptr<const Message> message) {
  if (written.duplicate || written.in_savepoint || message->has_key() || message->not_before() ||
      parts_.pauses.whole_table()) {
    return std::nullopt;
  }
  const auto gated = parts_.pauses.class_of(*message);
  if (gated && parts_.pauses.closed(*gated)) return std::nullopt;
  const auto now = parts_.options.clock->boot_now();
  if (!parts_.shards.live(now)) return std::nullopt;
  if (reserved_.fetch_add(1) >= 2 * parts_.options.hot_capacity) {
    reserved_.fetch_sub(1);
    return std::nullopt;
  }
  auto reservation =
      Reservation{.shard = written.shard, .sequence = written.sequence, .message = {}};
  const bool kept = parts_.shards.with(written.shard, [&](ShardState& state) {
    reservation.tenure = state.tenure();
    return state.reserve(written.sequence, now + reservation_expiry);
  });
  if (!kept) {
    reserved_.fetch_sub(1);
    return std::nullopt;
  }
  reservation.message = std::move(message);
  return reservation;
}

void Dispatcher::committed(Reservation reservation) noexcept {
  reserved_.fetch_sub(1);
  const auto bytes = reservation.message->bytes();
  if (!parts_.room.take(Source::hot, bytes)) {
    parts_.shards.with(reservation.shard, [&](ShardState& state) {
      state.cancel(reservation.sequence, reservation.tenure);
    });
    dropped_.fetch_add(1);
    instruments_.hot_dropped.increment();
    parts_.options.log->log(LogLevel::warning,
                            "hot queue is full; the poller will deliver this message",
                            {{"table", std::string_view(parts_.table.str())},
                             {"message", reservation.message->id().view()}});
    return;
  }
  const bool ours = parts_.shards.with(reservation.shard, [&](ShardState& state) {
    return state.claim(reservation.sequence, reservation.tenure);
  });
  if (!ours) {
    parts_.room.release(Source::hot, bytes);
    return;
  }
  instruments_.hot.increment();
  const auto now = parts_.options.clock->wall_now();
  queues_.push({.message = std::move(reservation.message),
                .sequence = reservation.sequence,
                .written_at = now,
                .available_at = now,
                .tenure = reservation.tenure,
                .shard = reservation.shard,
                .source = Source::hot});
  work_wakeup_.notify_one();
}

void Dispatcher::cancelled(const Reservation& reservation) noexcept {
  reserved_.fetch_sub(1);
  parts_.shards.with(reservation.shard, [&](ShardState& state) {
    state.cancel(reservation.sequence, reservation.tenure);
  });
}

void Dispatcher::report(const Ended& ended, BootTime now) {
  const auto& entry = ended.entry;
  const auto& settlement = ended.settlement;
  if (ended.route != nullptr) {
    auto& figures = *ended.route->figures;
    (settlement.verdict == spi::Verdict::done ? figures.seconds_done : figures.seconds_failed)
        .observe(seconds(now - ended.started));
  }
  if (instruments_.read && entry.attempts == 0 && settlement.verdict == spi::Verdict::done) {
    instruments_.latency.observe(seconds(parts_.options.clock->wall_now() - entry.written_at));
  }
  const bool dead = settlement.verdict == spi::Verdict::dead;
  const bool done = settlement.verdict == spi::Verdict::done;
  const auto level = dead ? LogLevel::error : done ? LogLevel::debug : LogLevel::info;
  if (parts_.options.log->enabled(level)) {
    parts_.options.log->log(level,
                            dead   ? "message is dead"
                            : done ? "delivered"
                                   : "attempt failed",
                            {{"table", std::string_view(parts_.table.str())},
                             {"topic", std::string_view(entry.message->topic())},
                             {"message", entry.message->id().view()},
                             {"tenant", std::string_view(entry.message->tenant())},
                             {"sequence", entry.sequence.value},
                             {"attempts", std::uint64_t{settlement.attempts}},
                             {"code", done ? std::string_view() : code_name(settlement.code)},
                             {"error", std::string_view(ended.error)}});
  }
  const auto* message = entry.message.get();
  if (done) return audit(AuditKind::tx_outbox_dispatched, message, settlement);
  audit(AuditKind::tx_outbox_failed, message, settlement);
  if (dead) audit(AuditKind::dead_letter, message, settlement);
  if (settlement.verdict != spi::Verdict::retry) return;
  audit(AuditKind::retry, message, settlement);
  audit(AuditKind::backoff, message, settlement);
}

void Dispatcher::report_buried(const ShardState::Buried& buried) {
  const auto& settlement = buried.settlement;
  instruments_.errors.count(settlement.code);
  parts_.shards.add_places(1);
  parts_.shards.settlement_added(parts_.options.clock->boot_now());
  parts_.options.log->log(LogLevel::error, "message is dead",
                          {{"table", std::string_view(parts_.table.str())},
                           {"message", settlement.id.view()},
                           {"sequence", settlement.sequence.value},
                           {"attempts", std::uint64_t{settlement.attempts}},
                           {"code", code_name(settlement.code)},
                           {"error", std::string_view(settlement.error)}});
  audit(AuditKind::dead_letter, buried.message.get(), settlement);
}

void Dispatcher::audit(AuditKind kind, const Message* message, const spi::Settlement& settlement) {
  if (!parts_.options.audit->wants(kind)) return;
  auto event = AuditEvent{.kind = kind,
                          .at = parts_.options.clock->wall_now(),
                          .table = parts_.table.str(),
                          .message_id = settlement.id.str(),
                          .attempt = settlement.attempts,
                          .detail = settlement.error};
  if (settlement.verdict != spi::Verdict::done) event.code = code_name(settlement.code);
  if (message != nullptr) {
    event.tenant = message->tenant();
    event.topic = message->topic();
    event.digest = message->digest();
    event.traceparent = message->trace().traceparent;
  }
  parts_.options.audit->record(event);
}

}  // namespace sagabox::outbox
