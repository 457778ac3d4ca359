#include "outbox/relay.hpp"

#include "observe/metric_names.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::outbox {
namespace {

ShardState::Settings shard_settings(const spi::OutboxStore& store, const OutboxOptions& options,
                                    const RelayParts& parts, const spi::Gate* gate) {
  const auto runners = options.workers + options.spare_workers_max;
  return {.store = store.capabilities(),
          .head_policy = options.head_policy,
          .attempts_max = options.sink ? options.sink->attempts_max(options.retry.attempts_max)
                                       : options.retry.attempts_max,
          // If every runner is busy with a different key, half of the queue is left for other
          // messages.
          .chain_max = std::max<std::uint32_t>(4, options.cold_capacity / (2 * runners)),
          .blocked_keys_max = options.blocked_keys_max,
          .key_memory = parts.key_memory,
          // The most messages that a process with these settings can have in flight.
          .cautious_rows = options.hot_capacity + options.cold_rows_max() + options.unsettled_max,
          .skip_recent = options.skip_recent,
          .gate = gate};
}

IntakeOptions intake_options(const OutboxOptions& options, IntakeOptions intake) {
  intake.poll_interval = options.poll_interval;
  intake.read_ahead = options.read_ahead;
  return intake;
}

}  // namespace

Relay::Relay(spi::OutboxStore& store, spi::ControlStore& control, const TableName& table,
             const OutboxOptions& options, const Registry& registry, RelayParts parts)
    : store_(store),
      table_(table),
      options_(options),
      room_({.hot_capacity = options.hot_capacity,
             .cold_capacity = options.cold_capacity,
             .bytes_max = options.queue_bytes_max}),
      unrouted_(
          {.registry = registry,
           .sink = options.sink.get(),
           .beneath = parts.gate != nullptr ? parts.gate : options.sink.get(),
           .table = table,
           .clock = *options.clock,
           .log = *options.log},
          {.waits = options.unroutable == Unroutable::wait, .grace = options.unroutable_grace}),
      pauses_(&unrouted_),
      shards_(scope_of(table), shard_settings(store, options, parts, &pauses_), room_,
              parts.tracker, options.unsettled_max),
      dispatcher_({.table = table,
                   .options = options,
                   .shards = shards_,
                   .room = room_,
                   .registry = registry,
                   .pauses = pauses_,
                   .unrouted = unrouted_,
                   .wake_reader = [this] { wake(); },
                   .reopen = [this] { reopen(); }}),
      intake_({.store = store,
               .table = table,
               .shards = shards_,
               .room = room_,
               .pauses = pauses_,
               .clock = *options.clock,
               .metrics = *options.metrics,
               .log = *options.log,
               .deliver = [this](ShardState::Taken& taken) { dispatcher_.accept(taken); }},
              intake_options(options, parts.intake)),
      settler_({.store = store,
                .table = table,
                .shards = shards_,
                .metrics = *options.metrics,
                .log = *options.log,
                .attempt_written =
                    [this](Shard shard, Sequence sequence, std::uint32_t tenure) {
                      dispatcher_.attempt_written(shard, sequence, tenure);
                    },
                .attempt_refused =
                    [this](const spi::Settlement& park, std::uint32_t tenure) {
                      dispatcher_.attempt_refused(park, tenure);
                    }},
               {.rows_max = options.settle_rows_max,
                .delay_max = options.settle_delay_max,
                .retain_done = options.retention > Duration{},
                .refused_rows_max = parts.refused_rows_max}),
      controls_({.store = control,
                 .table = table,
                 .pauses = pauses_,
                 .shards = shards_,
                 .intake = intake_,
                 .log = *options.log,
                 .wake_reader = [this] { wake(); }},
                options.control_interval) {
  show_leader();
  if (options.sink) options.sink->join(dispatcher_);
}

Relay::~Relay() {
  if (options_.sink) options_.sink->leave(dispatcher_);
}

void Relay::wake() {
  intake_.wake();
  store_.wake(table_);
}

void Relay::reopen() {
  if (unrouted_.routes_changed()) return reopen_unrouted();
  intake_.reopen();
  wake();
}

void Relay::reopen_unrouted() {
  const Unrouted::Opening opening(unrouted_);
  intake_.reopen();
  wake();
}

void Relay::tick(BootTime now) {
  if (unrouted_.opening_due()) reopen_unrouted();
  for (std::size_t number = 0; number < shards_.size(); ++number) {
    const auto shard = Shard{static_cast<std::uint16_t>(number)};
    const bool drains = shards_.with(shard, [&](ShardState& state) {
      state.tracker().expire_reservations(now);
      return state.phase() == ShardState::Phase::draining && !state.idle();
    });
    // Messages that were being passed to the sink when the shard began to drain arrived after the
    // first recall.
    if (drains && options_.sink) options_.sink->recall(dispatcher_, shard);
  }
  auto& metrics = *options_.metrics;
  const std::string_view table = table_.str();
  const auto current = snapshot();
  const auto set = [&](std::string_view name, std::uint64_t value) {
    metrics.gauge(name, {{"table", table}}).set(static_cast<double>(value));
  };
  metrics.gauge(metric::outbox_queue_depth, {{"table", table}, {"queue", "hot"}})
      .set(static_cast<double>(current.hot_depth));
  metrics.gauge(metric::outbox_queue_depth, {{"table", table}, {"queue", "cold"}})
      .set(static_cast<double>(current.cold_depth));
  set(metric::outbox_queue_bytes, current.queued_bytes);
  set(metric::outbox_in_flight, current.unsettled);
  set(metric::outbox_blocked_keys, current.blocked_keys);
  set(metric::outbox_refused, current.refused);
  set(metric::outbox_unrouted_topics, current.unrouted_topics);
  set(metric::outbox_spare_workers, current.spare_workers);
}

OutboxSnapshot Relay::snapshot() const {
  OutboxSnapshot snapshot;
  for (std::size_t number = 0; number < shards_.size(); ++number) {
    shards_.with(Shard{static_cast<std::uint16_t>(number)}, [&](const ShardState& state) {
      if (state.phase() != ShardState::Phase::absent) ++snapshot.shards_owned;
      snapshot.blocked_keys += state.blocked_keys();
    });
  }
  snapshot.refused = settler_.refused().count();
  if (const auto failing = settler_.failing()) {
    snapshot.settle_failure = failing->code;
    snapshot.settle_failing_since = failing->since;
  }
  snapshot.unrouted_topics = unrouted_.count();
  snapshot.hot_depth = room_.count(Source::hot);
  snapshot.cold_depth = room_.count(Source::cold);
  snapshot.queued_bytes = room_.bytes();
  snapshot.running = dispatcher_.running();
  snapshot.unsettled = shards_.places_taken();
  snapshot.spare_workers =
      std::min<std::uint64_t>(dispatcher_.overdue(), options_.spare_workers_max);
  snapshot.hot_dropped = dispatcher_.hot_dropped();
  snapshot.delivered = settler_.delivered();
  snapshot.retried = settler_.retried();
  snapshot.dead = settler_.dead();
  snapshot.table_paused = pauses_.whole_table();
  return snapshot;
}

std::optional<OwnerView> Relay::owner_view(const MessageRecord& record) {
  if (record.shard.value >= shards_.size() || !record.decode_error.empty()) return std::nullopt;
  const auto message = Message::restore({.id = record.id,
                                         .fields = {.topic = record.topic,
                                                    .key = record.key,
                                                    .tenant = record.tenant,
                                                    .aggregate_type = record.aggregate_type}});
  auto view = shards_.with(record.shard, [&](const ShardState& state) {
    return state.owner_view(message, record.sequence);
  });
  if (!view) return view;
  const auto available = std::max(record.written_at, record.due.value_or(record.written_at));
  view->no_route_until = unrouted_.waits_until(message, available);
  if (view->in_hand) {
    if (auto known = dispatcher_.under_way(record.shard, record.sequence)) view->in_hand = known;
  } else {
    view->bound = bound();
  }
  return view;
}

std::string Relay::bound() const {
  if (shards_.places_taken() >= options_.unsettled_max) return "unsettled_max";
  if (room_.bytes() >= options_.queue_bytes_max) return "queue_bytes_max";
  if (room_.free(Source::cold) == 0) return "cold_capacity";
  return {};
}

std::size_t Relay::tracked() const {
  std::size_t total = 0;
  for (std::size_t number = 0; number < shards_.size(); ++number) {
    total += shards_.with(Shard{static_cast<std::uint16_t>(number)},
                          [](const ShardState& state) { return state.tracked(); });
  }
  return total;
}

void Relay::acquired(const spi::OwnedShard& shard, const WorkerId& owner, Timeline timeline) {
  shards_.acquire(shard, owner, timeline);
  show_leader();
  wake();
}

void Relay::drain(Shard shard) {
  const auto taken_back = shards_.with(shard, [](ShardState& state) { return state.drain(); });
  const auto now = options_.clock->boot_now();
  for (std::size_t count = 0; count < taken_back; ++count) shards_.settlement_added(now);
  if (options_.sink) options_.sink->recall(dispatcher_, shard);
}

bool Relay::idle(Shard shard) const {
  return shards_.with(shard, [](const ShardState& state) { return state.idle(); });
}

void Relay::lost(Shard shard) {
  shards_.lose(shard);
  dispatcher_.dropped(shard);
  if (options_.sink) options_.sink->recall(dispatcher_, shard);
  show_leader();
}

void Relay::show_leader() {
  if (options_.claim != ClaimMode::leader) return;
  bool leads = false;
  for (std::size_t number = 0; number < shards_.size(); ++number) {
    leads = leads ||
            shards_.with(Shard{static_cast<std::uint16_t>(number)}, [](const ShardState& state) {
              return state.phase() != ShardState::Phase::absent;
            });
  }
  options_.metrics->gauge(metric::relay_leader, {{"table", table_.str()}}).set(leads ? 1 : 0);
}

}  // namespace sagabox::outbox
