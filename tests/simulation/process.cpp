#include "simulation/process.hpp"

#include "simulation/watched.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace sagabox::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration wait_max = milliseconds(60);
constexpr Duration watch_interval = milliseconds(20);
constexpr std::uint32_t ticks_per_housekeeping = 10;
/// Of 10,000 boundaries, where crashes happen at all.
constexpr std::uint32_t deaths_at_boundaries = 6;
/// Few, so that some are forgotten.
constexpr std::size_t refused_rows_max = 3;
/// The relay's, among the scopes of the worker.
constexpr std::size_t relay_scope = 0;

}  // namespace

WallTime ProcessClock::wall_now() const {
  return world_.database_now() + std::chrono::duration_cast<WallTime::duration>(ahead_);
}

Process::Process(World& world, std::size_t slot, std::uint64_t id)
    : world_(world),
      slot_(slot),
      id_(id),
      clock_(world),
      random_(seeded_random(world.settings().seed * 1'000 + id)),
      options_(world.settings().options),
      ids_(clock_, *random_),
      registry_(no_metrics(), options_.table),
      store_(store_of(
          world.settings().variant, world.store().outbox(), [&world] { return world.truth(); },
          world.gate())),
      watched_(std::make_unique<Watched>(world, id, *store_)) {
  options_.clock = &clock_;
  options_.random = random_.get();
  for (std::uint32_t topic = 0; topic < topic_count; ++topic) {
    (void)registry_.add(AggregateType(aggregate_global), "t" + std::to_string(topic),
                        [this](const Delivery& delivery) { return answer(delivery); });
  }
  relay_ = std::make_unique<outbox::Relay>(
      *watched_, world.control(), world.table(), options_, registry_,
      outbox::RelayParts{.tracker = tracker_of(world.settings().variant),
                         .gate = &world.gate(),
                         .intake = {.safety_interval_min = world.settings().safety_interval_min,
                                    .apart_max = world.settings().apart_max},
                         .key_memory = world.settings().key_memory,
                         .refused_rows_max = refused_rows_max});
  seat_ = std::make_unique<Seat>(world, id, *relay_);
  const auto live = [this](BootTime now) { return worker_->live(now); };
  replayer_.emplace(outbox::Replayer::Parts{.store = world.control(),
                                            .table = world.table(),
                                            .metrics = no_metrics(),
                                            .log = no_log(),
                                            .live = live,
                                            .fence_broken =
                                                [this](Epoch epoch) {
                                                  worker_->shard_lost(
                                                      outbox::Replayer::scope_of(world_.table()),
                                                      Shard{0}, epoch);
                                                }},
                    outbox::ReplayerOptions{.rows_max = 5, .look_interval = milliseconds(100)});
  purger_.emplace(
      outbox::Purger::Parts{.store = world.admin(),
                            .table = world.table(),
                            .metrics = no_metrics(),
                            .log = no_log(),
                            .live = live},
      outbox::PurgerOptions{
          .done = world.settings().purge_done, .rows_max = 10, .interval = milliseconds(700)});
  worker_ = std::make_unique<ownership::Worker>(
      ownership::WorkerParts{.store = world.store().ownership(), .ids = ids_, .clock = clock_},
      std::vector{ownership::ScopeOptions{.scope = outbox::Relay::scope_of(world.table()),
                                          .shards = world.settings().shards,
                                          .holder = seat_.get()},
                  ownership::ScopeOptions{.scope = outbox::Replayer::scope_of(world.table()),
                                          .shards = 1,
                                          .holder = &replayer_->holder()},
                  ownership::ScopeOptions{.scope = outbox::Purger::scope_of(world.table()),
                                          .shards = 1,
                                          .holder = &purger_->holder()}},
      ownership::WorkerOptions::for_lease(options_.lease));
  relay_->attach(*worker_);
  writer_ = std::make_unique<outbox::Writer>(world.table(), options_, ids_, relay_.get());
  running_.resize(relay_->dispatcher().runners());
}

Process::~Process() = default;

void Process::then(Duration delay, void (Process::*step)()) {
  world_.after(delay, id_, [this, step] { (this->*step)(); });
}

void Process::then_runner(Duration delay, std::size_t runner, void (Process::*step)(std::size_t)) {
  world_.after(delay, id_, [this, runner, step] { (this->*step)(runner); });
}

void Process::begin() {
  for (const auto step :
       {&Process::plan_read, &Process::plan_settle, &Process::plan_ownership,
        &Process::ask_controls, &Process::plan_replay, &Process::plan_purge, &Process::watch}) {
    then(world_.up_to(milliseconds(5)), step);
  }
  for (std::size_t runner = 0; runner < running_.size(); ++runner) {
    then_runner(world_.up_to(milliseconds(5)), runner, &Process::take);
  }
}

bool Process::dies_here() {
  if (!world_.crashes_happen() || !world_.chance(deaths_at_boundaries)) return false;
  world_.crash(id_);
  return true;
}

void Process::plan_read() {
  read_plan_ = relay_->intake().plan(world_.now());
  if (read_plan_) return then(world_.call_time(), &Process::perform_read);
  auto& intake = relay_->intake();
  if (intake.waits_for_room()) {
    const bool no_places = !relay_->shards().places_left();
    world_.statistics().count(no_places ? Event::places_exhausted : Event::cold_queue_full);
    return then(world_.up_to(milliseconds(5)), &Process::plan_read);
  }
  const auto wait =
      std::clamp<Duration>(intake.next(world_.now()) - world_.now(), milliseconds(1), wait_max);
  then(microseconds(100) + world_.up_to(wait), &Process::plan_read);
}

void Process::perform_read() {
  read_answer_ = relay_->intake().perform(*read_plan_);
  if (dies_here()) return;
  then(world_.call_time(), &Process::apply_read);
}

void Process::apply_read() {
  if (const auto* reply = std::get_if<Result<spi::ReadReply>>(&*read_answer_);
      reply != nullptr && reply->ok()) {
    for (const auto& row : reply->value().rows) {
      const auto number = Ledger::number_of(row.id);
      if (number && world_.ledger().at(*number).state != Record::State::pending) {
        world_.statistics().count(Event::stale_read);
      }
    }
  }
  world_.trace(What::read_applied, id_);
  const auto plan = std::exchange(read_plan_, std::nullopt);
  relay_->intake().apply(*plan, std::move(*read_answer_), world_.now());
  then(world_.up_to(microseconds(500)), &Process::plan_read);
}

void Process::plan_settle() {
  settle_plan_ = relay_->settler().plan(world_.now());
  if (settle_plan_) return then(world_.call_time(), &Process::perform_settle);
  const auto next = relay_->settler().next(world_.now());
  const auto wait =
      next == BootTime::max()
          ? Duration{milliseconds(10)}
          : std::clamp<Duration>(next - world_.now(), microseconds(100), milliseconds(20));
  then(world_.up_to(wait), &Process::plan_settle);
}

void Process::perform_settle() {
  settle_reply_ = relay_->settler().perform(*settle_plan_);
  if (dies_here()) return;
  then(world_.call_time(), &Process::apply_settle);
}

void Process::apply_settle() {
  // As if a bound on refused rows were there, beyond which a batch is repeated as it is.
  constexpr std::uint32_t refused_max = 16;
  if (world_.settings().variant == Variant::refused_rows_stop_others && !settle_reply_->ok() &&
      settle_reply_->error().code == Code::schema_validation_failed && ++refused_ > refused_max) {
    return then(milliseconds(100), &Process::perform_settle);
  }
  world_.trace(settle_reply_->ok() ? What::settle_applied : What::settle_failed, id_);
  auto plan = std::exchange(settle_plan_, std::nullopt);
  relay_->settler().apply(std::move(*plan), std::move(*settle_reply_), world_.now());
  then(world_.up_to(microseconds(300)), &Process::plan_settle);
}

void Process::plan_ownership() {
  request_ = worker_->plan(world_.now());
  if (request_) {
    if (const auto* given = std::get_if<ownership::Request::Release>(&request_->call);
        given != nullptr && given->scope == relay_scope) {
      for (const auto& shard : given->shards) world_.ledger().handed_over(id_, shard.shard);
    }
    return then(world_.call_time(), &Process::perform_ownership);
  }
  if (worker_->stopped()) return world_.retire(id_);
  const auto wait =
      std::clamp<Duration>(worker_->next_due() - world_.now(), milliseconds(1), milliseconds(50));
  then(world_.up_to(wait), &Process::plan_ownership);
}

void Process::perform_ownership() {
  reply_ = worker_->perform(*request_);
  world_.trace(What::ownership_call, id_, request_->call.index(),
               static_cast<std::uint64_t>(world_.last_fault()));
  if (dies_here()) return;
  then(world_.call_time(), &Process::apply_ownership);
}

void Process::apply_ownership() {
  const auto request = std::exchange(request_, std::nullopt);
  worker_->apply(*request, std::move(*reply_), world_.now());
  then(world_.up_to(microseconds(300)), &Process::plan_ownership);
}

void Process::ask_controls() {
  auto& controls = relay_->controls();
  if (controls.plan(world_.now())) {
    controls_ = controls.perform();
    paused_next_ = world_.operators().paused();
    return then(world_.call_time(), &Process::apply_controls);
  }
  then(std::clamp<Duration>(controls.next() - world_.now(), milliseconds(1), milliseconds(50)),
       &Process::ask_controls);
}

void Process::apply_controls() {
  relay_->controls().apply(*controls_, world_.now());
  if (controls_->ok()) paused_ = paused_next_;
  then(world_.up_to(microseconds(500)), &Process::ask_controls);
}

void Process::plan_replay() {
  replay_plan_ = replayer_->plan(world_.now());
  if (replay_plan_) return then(world_.call_time(), &Process::perform_replay);
  const auto wait = replayer_->next(world_.now()) - world_.now();
  then(world_.up_to(std::clamp<Duration>(wait, milliseconds(1), milliseconds(50))),
       &Process::plan_replay);
}

void Process::perform_replay() {
  replay_answer_ = replayer_->perform(*replay_plan_);
  if (const auto* advance = std::get_if<outbox::ReplayPlan::Advance>(&replay_plan_->call)) {
    world_.trace(What::job_advanced, id_, advance->job.value,
                 static_cast<std::uint64_t>(world_.last_fault()));
    world_.operators().advanced(advance->job);
  }
  if (dies_here()) return;
  then(world_.call_time(), &Process::apply_replay);
}

void Process::apply_replay() {
  const auto plan = std::exchange(replay_plan_, std::nullopt);
  replayer_->apply(*plan, std::move(*replay_answer_), world_.now());
  then(world_.up_to(microseconds(500)), &Process::plan_replay);
}

void Process::plan_purge() {
  purge_plan_ = purger_->plan(world_.now());
  if (purge_plan_) return then(world_.call_time(), &Process::perform_purge);
  const auto wait = purger_->next(world_.now()) - world_.now();
  then(world_.up_to(std::clamp<Duration>(wait, milliseconds(1), milliseconds(100))),
       &Process::plan_purge);
}

void Process::perform_purge() {
  purge_answer_ = purger_->perform(*purge_plan_);
  if (const auto* purge = std::get_if<outbox::PurgePlan::Purge>(&purge_plan_->call)) {
    world_.operators().purged(purge->state, purge->older_than);
  } else if (const auto& strays = std::get<Result<std::vector<spi::Stray>>>(*purge_answer_);
             strays.ok()) {
    world_.statistics().count(Event::no_strays);
    if (!strays->empty()) world_.violate("a stray row: " + strays->front().why);
  }
  if (dies_here()) return;
  then(world_.call_time(), &Process::apply_purge);
}

void Process::apply_purge() {
  const auto plan = std::exchange(purge_plan_, std::nullopt);
  purger_->apply(*plan, std::move(*purge_answer_), world_.now());
  then(world_.up_to(microseconds(500)), &Process::plan_purge);
}

void Process::watch() {
  const auto told = relay_->dispatcher().check_deadlines(world_.now());
  world_.statistics().count(Event::handler_past_deadline, told);
  if (++ticks_ % ticks_per_housekeeping == 0) relay_->tick(world_.now());
  const auto dropped = relay_->dispatcher().hot_dropped();
  world_.statistics().count(Event::hot_queue_full, dropped - std::exchange(hot_dropped_, dropped));
  then(watch_interval, &Process::watch);
}

void Process::take(std::size_t number) {
  auto& dispatcher = relay_->dispatcher();
  auto& runner = dispatcher.runner(number);
  const bool on_duty =
      number < options_.workers || dispatcher.overdue() >= number - options_.workers + 1;
  if (!on_duty || dispatcher.take(runner, world_.now()) == outbox::Dispatcher::Took::nothing) {
    return then_runner(world_.up_to(milliseconds(number < options_.workers ? 8 : 30)), number,
                       &Process::take);
  }
  const auto delivery = runner.delivery();
  const auto message = Ledger::number_of(delivery.id());
  if (!message) return world_.violate("a message nobody wrote: " + delivery.id().str());
  auto& record = world_.ledger().at(*message);
  const auto act = world_.script().act(*message, static_cast<std::uint32_t>(record.runs.size()));
  world_.trace(What::handler_began, id_, *message, delivery.attempt());
  if (runner.entry().source == outbox::Source::hot) {
    world_.statistics().count(Event::hot_delivery);
  }
  world_.ledger().started(
      {.number = *message,
       .process = id_,
       .worker = worker_->id(),
       .shard = delivery.shard(),
       .epoch = delivery.epoch(),
       .sequence = delivery.sequence(),
       .attempt = delivery.attempt(),
       .cautious = runner.entry().cautious,
       .knows_timeline = seat_->timeline_of(delivery.shard()) == world_.timeline(),
       .now = world_.now(),
       .class_closed = world_.gate().closed_since(delivery.topic()).has_value(),
       .paused = paused_.contains("") || paused_.contains(delivery.topic())},
      world_.truth());
  running_[number] = Running{.number = *message, .act = act};
  acts_[delivery.sequence()] = act;
  ++handlers_running_;
  then_runner(act.takes, number, &Process::invoke);
}

void Process::count_act(const Act& act) {
  auto& statistics = world_.statistics();
  switch (act.kind) {
    case Act::Kind::raise:
      return statistics.count(Event::handler_threw);
    case Act::Kind::retry:
      return statistics.count(Event::handler_asked_retry);
    case Act::Kind::later:
    case Act::Kind::later_unspent:
      return statistics.count(Event::handler_asked_later);
    case Act::Kind::reject:
      return statistics.count(Event::handler_rejected);
    case Act::Kind::done:
      if (act.takes > milliseconds(6)) statistics.count(Event::handler_slow);
      return;
    case Act::Kind::kill:
      return;
  }
}

Outcome Process::answer(const Delivery& delivery) {
  return Script::answer(acts_.at(delivery.sequence()));
}

void Process::invoke(std::size_t number) {
  auto& running = *running_[number];
  if (running.act.kind == Act::Kind::kill) return world_.crash(id_, running.number);
  running.outcome = relay_->dispatcher().invoke(relay_->dispatcher().runner(number));
  if (running.outcome.code == Code::tx_unroutable) {
    world_.statistics().count(Event::unroutable);
  } else {
    count_act(running.act);
  }
  if (dies_here()) return;
  then_runner(world_.up_to(microseconds(200)), number, &Process::complete);
}

void Process::complete(std::size_t number) {
  auto& dispatcher = relay_->dispatcher();
  auto& runner = dispatcher.runner(number);
  const auto running = *std::exchange(running_[number], std::nullopt);
  const auto& outcome = running.outcome;
  const bool done = outcome.kind == Outcome::Kind::done;
  const bool spent = outcome.spends_attempt || runner.timed_out();
  const bool parked =
      spent && options_.head_policy == HeadPolicy::park && runner.entry().message->has_key();
  const bool last = spent && runner.entry().attempts + 1 >= options_.retry.attempts_max;
  const bool final = done || outcome.kind == Outcome::Kind::reject || parked || last;
  world_.trace(What::handler_ended, id_, running.number, static_cast<std::uint64_t>(outcome.kind));
  world_.ledger().ended({.number = running.number,
                         .process = id_,
                         .sequence = runner.entry().sequence,
                         .done = done,
                         .final = final});
  acts_.erase(runner.entry().sequence);
  --handlers_running_;
  dispatcher.complete(runner, outcome, world_.now());
  then_runner(world_.up_to(microseconds(300)), number, &Process::take);
}

void Process::begin_stop() {
  stopping_ = true;
  relay_->settler().begin_stop();
  worker_->begin_stop();
  then(options_.drain_timeout, &Process::drain_limit);
}

void Process::drain_limit() {
  if (worker_->stopped()) return;
  world_.statistics().count(Event::drain_limit_reached);
  worker_->abandon_remaining();
}

void Process::reopen() { relay_->intake().reopen(); }

void Process::check_bounds() {
  const auto snapshot = relay_->snapshot();
  auto& statistics = world_.statistics();
  statistics.count(Event::result_held_back, snapshot.refused);
  const auto bound = [&](Event event, std::uint64_t is, std::uint64_t most, const char* what) {
    statistics.count(event);
    if (is <= most) return;
    world_.violate(std::string(name_of(event)) + ": p" + std::to_string(id_) + " holds " +
                   std::to_string(is) + " " + what + ", at most " + std::to_string(most));
  };
  constexpr std::uint64_t message_bytes_max = 3'000;
  const auto shards = world_.settings().shards;
  bound(Event::queue_bounds, snapshot.hot_depth, options_.hot_capacity, "hot messages");
  bound(Event::queue_bounds, snapshot.cold_depth, options_.cold_rows_max(), "cold messages");
  bound(Event::queue_bounds, snapshot.queued_bytes,
        std::max<std::uint64_t>(options_.queue_bytes_max, 2 * message_bytes_max), "bytes");
  // Rows that are dead on arrival take places beyond the bound, a page of them at most.
  const auto page = options_.cold_rows_max() + spi::lane_count * shards;
  bound(Event::unsettled_bound, snapshot.unsettled, options_.unsettled_max + page, "unsettled");
  bound(Event::tracker_bound, relay_->tracked(),
        3 * options_.hot_capacity + options_.cold_rows_max() + 2 * (options_.unsettled_max + page) +
            snapshot.refused,
        "tracked");
  std::uint64_t key_bytes = 0;
  for (std::uint16_t number = 0; number < shards; ++number) {
    key_bytes += relay_->shards().with(
        Shard{number}, [](const outbox::ShardState& state) { return state.passed_key_bytes(); });
  }
  // Two topics can be closed, and two classes are the overflow's.
  bound(Event::key_memory_bound, key_bytes,
        shards * (world_.settings().key_memory.passed_bytes_max +
                  4 * spi::lane_count * flow::KeyFilter::bytes_min),
        "bytes of keys");
}

std::string Process::leftovers() const {
  const auto now = relay_->snapshot();
  std::string left;
  const auto look = [&](const char* what, std::uint64_t count) {
    if (count > 0) left += " " + std::to_string(count) + " " + what;
  };
  look("hot", now.hot_depth);
  look("cold", now.cold_depth);
  look("bytes", now.queued_bytes);
  look("running", now.running);
  look("unsettled", now.unsettled);
  look("blocked keys", now.blocked_keys);
  look("tracked", relay_->tracked() - std::min<std::uint64_t>(relay_->tracked(), now.refused));
  look("settlements", relay_->shards().settlements());
  return left.empty() ? left : "p" + std::to_string(id_) + " still holds" + left;
}

}  // namespace sagabox::simulation
