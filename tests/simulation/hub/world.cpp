#include "simulation/hub/world.hpp"

#include "delivery/cleaner/cleaner.hpp"
#include "delivery/orchestrator/orchestrator.hpp"
#include "delivery/router/router.hpp"
#include "delivery/worker/worker.hpp"
#include "ownership/worker.hpp"
#include "simulation/hub/endpoints.hpp"
#include "simulation/hub/variants.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace sagabox::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint16_t hub_shards = 4;
constexpr std::size_t hub_processes_max = 3;
constexpr std::size_t hub_events_max = 50;
constexpr std::uint64_t hub_steps_busy = 12'000;
constexpr std::uint64_t hub_steps_quiet = 200'000;
constexpr std::size_t hub_trace_lines = 80;
constexpr Duration request_timeout = milliseconds(200);

struct SubscriptionRule {
  std::string_view name;
  std::string_view type;  ///< pattern
  std::string_view settings;
};

constexpr std::string_view short_waits =
    R"("retry": {"waits": ["20ms","20ms","50ms","50ms","100ms","100ms","100ms"]}, "timeout": "200ms")";

/// What each subscription shows. `gone` will be.
constexpr std::array<SubscriptionRule, 4> subscription_rules{{
    {"any", "shop.**", ""},
    {"keyed", "shop.**", R"("order": "key",)"},
    {"limited", "shop.order.*.v1", R"("limits": {"concurrency": 2},)"},
    {"gone", "shop.order.**", ""},
}};

std::string target_of(std::string_view name) { return "sim:" + std::string(name); }

bool counts_as_failure(const JobResult& result) {
  return !result.completed && !(result.status == 0 && result.code == Code::provider_unavailable);
}

class HubWorld;

/// One process with all roles, and where their steps are.
class HubProcess {
 public:
  HubProcess(HubWorld& world, std::uint64_t id);
  /// A part of a step.
  void move(std::uint64_t which);

  const std::uint64_t id;
  BootTime paused_until{};

 private:
  void move_worker();
  void move_start();
  void move_end();

  HubWorld& world_;
  UlidSource ids_;
  HubWatch watch_;
  WatchedEvents events_;
  WatchedDeliveries deliveries_;
  WatchedJobs jobs_;
  delivery::Transports transports_;
  delivery::Router router_;
  delivery::Orchestrator orchestrator_;
  delivery::Worker sender_;
  delivery::Cleaner cleaner_;
  ownership::Worker worker_;
  std::optional<ownership::Request> asked_;
  std::optional<ownership::Reply> answered_;
  std::optional<delivery::StartStep> start_;
  std::optional<delivery::StartAnswer> started_;
  std::optional<delivery::EndStep> end_;
  std::optional<delivery::EndAnswer> ended_;
};

class HubWorld {
 public:
  HubWorld(std::uint64_t seed, HubVariant variant);
  HubReport run();

  void note(const std::string& text);
  void violated(const std::string& text) {
    if (!report_.violation) report_.violation = text;
    note("VIOLATION " + text);
  }
  void count(const std::string& what) { ++report_.counts[what]; }
  /// Between deciding and writing, sometimes for about as long as a lease lasts.
  void stall(HubProcess& process);

  const HubVariant variant;
  testing::FakeClock clock;
  std::unique_ptr<Random> random;
  memory::MemoryStore store;
  Endpoints endpoints;

 private:
  struct PendingEvent {
    std::unique_ptr<OwnedTransaction> tx;
    HubEvent event;
    WallTime commit_at{};
  };
  /// A requeue that has drawn its sequence.
  struct OpenRequeue {
    DeliveryRecord dead;
    WallTime begun_at{};
    WallTime commit_at{};
  };
  memory::Fault fault();
  /// Without faults.
  template <class Look>
  auto calmly(Look&& look) {
    ++calm_;
    auto found = look();
    --calm_;
    return found;
  }
  void subscribe(const SubscriptionRule& rule);
  void set_state(const SubscriptionId& id, SubscriptionState state);
  void publish_event();
  void send(HubEvent event);
  void work_on_transactions();
  void disturb();
  void requeue();
  void end_requeue();
  [[nodiscard]] std::vector<DeliveryRecord> rivals();
  void arrived(const EndpointCall& call);
  void step(std::uint64_t dice);
  void start_process();
  void crash();
  [[nodiscard]] std::vector<DeliveryRecord> stored();
  [[nodiscard]] bool all_ended();
  void check_end();
  void check_delivery(const DeliveryRecord& delivery);

  HubReport report_;
  std::deque<std::string> trace_;
  UlidSource ids_;
  std::vector<std::unique_ptr<HubProcess>> processes_;
  std::uint64_t next_process_ = 1;
  std::vector<PendingEvent> pending_;
  std::vector<HubEvent> published_;  ///< their transactions may not have ended
  std::optional<OpenRequeue> requeue_{};
  /// Requeued deliveries that were added late: attempts of their keys that were under way before.
  std::map<DeliveryId, std::set<spi::AttemptOf>> overtaken_by_;
  int calm_ = 1;
  bool quiet_ = false;
};

HubProcess::HubProcess(HubWorld& world, std::uint64_t number)
    : id(number),
      world_(world),
      ids_(world.clock, *world.random),
      watch_{.variant = world.variant,
             .roles = world.store.hub().value(),
             .ownership = world.store.ownership(),
             .ids = ids_,
             .violated = [&world](const std::string& text) { world.violated(text); },
             .count = [&world](const std::string& what) { world.count(what); }},
      events_(watch_),
      deliveries_(watch_),
      jobs_(watch_),
      transports_{{"sim", std::make_shared<EndpointTransport>(
                              world.endpoints, world.variant == HubVariant::worker_retries)}},
      router_({.events = events_, .deliveries = deliveries_, .clock = world.clock},
              {.read_rows_max = 8, .deliveries_max = 6, .move_interval = milliseconds(20)}),
      orchestrator_({.store = deliveries_,
                     .health = watch_.roles.admin,
                     .audit = &world.store.audit(),
                     .clock = world.clock,
                     .random = *world.random,
                     .decide = hub_decider_of(world.variant)},
                    {.in_progress_max = 12,
                     .window_max = 8,
                     .page_rows = 6,
                     .turn_rows = 3,
                     .batch_rows_max = 5,
                     .results_max = 20,
                     .subscriptions_interval = milliseconds(100),
                     .look_interval = milliseconds(50),
                     .scan_interval = milliseconds(500),
                     .parked_interval = milliseconds(300),
                     .breaker = {.probe_max = milliseconds(500)}},
                    hub_shards),
      sender_({.jobs = jobs_,
               .secrets = watch_.roles.subscriptions,
               .subscriptions =
                   [this](std::uint64_t after) { return deliveries_.subscriptions(after); },
               .transports = transports_,
               .ids = ids_,
               .clock = world.clock},
              {.in_hand_max = 6,
               .lease_rows_max = 3,
               .finish_rows_max = 2,
               .lease = seconds(1),
               .lease_margin = milliseconds(100),
               .poll_interval = milliseconds(20),
               .reread_interval = seconds(2)}),
      cleaner_({.jobs = jobs_, .clock = world.clock},
               {.rows_max = 5, .interval = milliseconds(100)}),
      worker_(
          {.store = world.store.ownership(), .ids = ids_, .clock = world.clock},
          {{.scope = spi::Scope(delivery::Router::scope), .shards = hub_shards, .holder = &router_},
           {.scope = spi::Scope(delivery::Orchestrator::scope),
            .shards = hub_shards,
            .holder = &orchestrator_}},
          ownership::WorkerOptions::for_lease(seconds(1))) {
  router_.attach(worker_);
  orchestrator_.attach(worker_);
}

void HubProcess::move(std::uint64_t which) {
  switch (which % 11) {
    case 0:
    case 10:
      return move_worker();
    case 1:
    case 2:
      router_.wake();
      return static_cast<void>(router_.step());
    case 3:
    case 4:
      sender_.wake();
      return static_cast<void>(sender_.step());
    case 5:
      return static_cast<void>(cleaner_.step());
    case 6:
    case 7:
      return move_start();
    default:
      return move_end();
  }
}

void HubProcess::move_worker() {
  const auto now = world_.clock.boot_now();
  if (answered_) {
    worker_.apply(*asked_, *std::move(answered_), now);
    answered_.reset();
    asked_.reset();
  } else if (asked_) {
    answered_ = worker_.perform(*asked_);
  } else {
    asked_ = worker_.plan(now);
  }
}

void HubProcess::move_start() {
  const auto now = world_.clock.boot_now();
  if (started_) {
    orchestrator_.apply(*start_, *std::move(started_), now);
    started_.reset();
    start_.reset();
  } else if (start_) {
    started_ = orchestrator_.perform(*start_);
  } else {
    start_ = orchestrator_.plan_start(now);
  }
}

void HubProcess::move_end() {
  const auto now = world_.clock.boot_now();
  if (ended_) {
    orchestrator_.apply(*end_, *std::move(ended_), now);
    ended_.reset();
    end_.reset();
  } else if (end_) {
    ended_ = orchestrator_.perform(*end_);
  } else {
    end_ = orchestrator_.plan_end(now);
    if (end_ && std::holds_alternative<delivery::DisableSubscription>(*end_)) world_.stall(*this);
  }
}

HubWorld::HubWorld(std::uint64_t seed, HubVariant of)
    : variant(of),
      random(seeded_random(seed)),
      store({.late_commits = spi::LateCommits::visible,
             .notifies = false,
             .shards = hub_shards,
             .clock = &clock,
             .faults = [this](memory::Operation) { return fault(); }}),
      endpoints({.random = *random,
                 .now = [this] { return clock.boot_now(); },
                 .arrived = [this](const EndpointCall& call) { arrived(call); },
                 .violated = [this](const std::string& text) { violated(text); }}),
      ids_(clock, *random) {
  report_.seed = seed;
  for (const auto& rule : subscription_rules) subscribe(rule);
  clock.advance(milliseconds(1));
  calm_ = 0;
}

void HubWorld::note(const std::string& text) {
  trace_.push_back(std::to_string(clock.wall_now().time_since_epoch().count() % 1'000'000'000) +
                   " " + text);
  if (trace_.size() > hub_trace_lines) trace_.pop_front();
}

memory::Fault HubWorld::fault() {
  if (quiet_ || calm_ > 0 || random->below(100) >= 4) return memory::Fault::none;
  return static_cast<memory::Fault>(1 + random->below(3));
}

void HubWorld::subscribe(const SubscriptionRule& rule) {
  SubscriptionRecord record;
  record.id = SubscriptionId::parse(rule.name).value();
  record.tenant = "acme";
  record.state = SubscriptionState::active;
  record.types = {std::string(rule.type)};
  record.target = target_of(rule.name);
  record.settings = "{" + std::string(rule.settings) + std::string(short_waits) + "}";
  record.version = 1;
  if (!store.hub()->subscriptions.write(record, {}).value()) violated("no subscription");
}

void HubWorld::set_state(const SubscriptionId& subscription, SubscriptionState state) {
  calmly([&] {
    auto& subscriptions = store.hub()->subscriptions;
    auto record = subscriptions.get(subscription).value().value();
    // What is disabled stays so: which events it matches afterwards would not be clear.
    if (record.state == state || record.state == SubscriptionState::disabled) return false;
    record.state = state;
    record.reason = "by hand";
    ++record.version;
    note(subscription.str() + " becomes " + std::string(subscription_state_name(state)));
    return subscriptions.write(record, {}).value();
  });
}

void HubWorld::publish_event() {
  if (published_.size() >= hub_events_max) return;
  const auto* const type = random->below(3) == 0 ? "shop.cart.filled.v1" : "shop.order.placed.v1";
  auto message = Message::build_shared({.topic = type,
                                        .key = "k" + std::to_string(random->below(4)),
                                        .payload = json("{}"),
                                        .tenant = "acme"},
                                       {}, ids_, clock);
  HubEvent event{.id = ids_.next<EventId>(), .message = std::move(message).value()};
  event.source = "shop";
  event.external_id = event.id.str();
  published_.push_back(event);
  count("events");
  send(std::move(event));
}

void HubWorld::send(HubEvent event) {
  auto tx = store.begin();
  if (!tx.ok() || !(*tx)->events().publish(std::span(&event, 1)).ok()) {
    if (tx.ok()) (void)(*tx)->rollback();
    // Whoever publishes tries again: the same event is stored once.
    pending_.push_back(
        {.tx = {}, .event = std::move(event), .commit_at = clock.wall_now() + milliseconds(10)});
    return;
  }
  const auto wait = milliseconds(random->below(4) == 0 ? random->below(300) : 0);
  pending_.push_back({.tx = std::move(tx).value(),
                      .event = std::move(event),
                      .commit_at = clock.wall_now() + wait});
}

void HubWorld::work_on_transactions() {
  const auto now = clock.wall_now();
  std::vector<PendingEvent> due;
  for (auto at = pending_.begin(); at != pending_.end();) {
    if (at->commit_at > now) {
      ++at;
      continue;
    }
    due.push_back(std::move(*at));
    at = pending_.erase(at);
  }
  for (auto& one : due) {
    if (one.tx && one.tx->commit().ok()) continue;
    if (one.tx) count("events published again");
    one.tx.reset();
    send(std::move(one.event));
  }
}

/// What operators and customers do, and what happens to their endpoints.
void HubWorld::disturb() {
  const auto& rule = subscription_rules[random->below(subscription_rules.size())];
  const auto subscription = SubscriptionId::parse(rule.name).value();
  switch (random->below(6)) {
    case 0:
      return set_state(subscription, SubscriptionState::paused);
    case 1:
    case 2:
      return set_state(subscription, SubscriptionState::active);
    case 3:
      return endpoints.set_down(target_of(rule.name), true);
    case 4:
      return endpoints.set_down(target_of(rule.name), false);
    default:
      break;
  }
  // Not too soon: a disabled subscription has no more deliveries.
  if (published_.size() < hub_events_max / 2) return;
  if (random->below(2) == 0) return endpoints.be_gone(target_of("gone"));
  set_state(SubscriptionId::parse("gone").value(), SubscriptionState::disabled);
}

/// Its transaction draws a sequence now and commits later.
void HubWorld::requeue() {
  if (requeue_) return;
  auto dead = calmly([&] {
    return store.hub()->admin.deliveries({.filter = {.state = DeliveryState::dead}}).value();
  });
  const auto is_keyed = [](const DeliveryRecord& one) { return !one.key.empty(); };
  if (random->below(2) == 0 && std::ranges::any_of(dead, is_keyed)) {
    std::erase_if(dead, [&](const DeliveryRecord& one) { return !is_keyed(one); });
  }
  if (dead.empty()) return;
  const auto wait = milliseconds(random->below(2) == 0 ? random->below(2'500) : 0);
  store.begin_requeue();
  requeue_ = OpenRequeue{.dead = dead[random->below(dead.size())],
                         .begun_at = clock.wall_now(),
                         .commit_at = clock.wall_now() + wait};
}

/// Attempts under way of the key of the open requeue.
std::vector<DeliveryRecord> HubWorld::rivals() {
  const auto& dead = requeue_->dead;
  if (dead.key.empty()) return {};
  auto rows = calmly([&] {
    return store.hub()
        ->admin
        .deliveries(
            {.filter = {.subscription = dead.subscription, .state = DeliveryState::in_progress}})
        .value();
  });
  std::erase_if(rows, [&](const DeliveryRecord& one) { return one.key != dead.key; });
  return rows;
}

/// Where a later one of its key has begun by now it commits at once: what is worst.
void HubWorld::end_requeue() {
  if (!requeue_) return;
  const auto rivals_now = rivals();
  const bool is_behind = std::ranges::any_of(
      rivals_now, [&](const DeliveryRecord& one) { return one.created_at > requeue_->begun_at; });
  if (!is_behind && requeue_->commit_at > clock.wall_now()) return;
  const auto dead = std::exchange(requeue_, std::nullopt)->dead;
  const auto made = store.hub()->admin.requeue(std::span(&dead.id, 1), std::nullopt, {});
  if (made.ok() && made->front().outcome == spi::Requeued::Outcome::made) {
    count("requeued");
    if (is_behind) count("requeued behind one under way");
  }
  // Also if it is not known whether it was made.
  auto& overtaken =
      overtaken_by_[delivery_id_of(dead.event, dead.subscription, dead.generation + 1)];
  for (const auto& one : rivals_now) overtaken.insert({.delivery = one.id, .attempt = one.attempt});
}

/// A request is made only while its delivery is in progress at that attempt, no other one of its
/// key is, and no earlier one of its key is open that was there when the attempt began.
void HubWorld::arrived(const EndpointCall& call) {
  note("request of " + call.delivery.str() + " attempt " + std::to_string(call.attempt));
  count("requests");
  const auto delivery = calmly([&] { return store.hub()->admin.delivery(call.delivery).value(); });
  if (!delivery) return violated("a request of a delivery that is not stored");
  if (delivery->state != DeliveryState::in_progress || delivery->attempt != call.attempt) {
    return violated("a request of attempt " + std::to_string(call.attempt) + " of delivery " +
                    call.delivery.str() + ", which is " +
                    std::string(delivery_state_name(delivery->state)) + " at " +
                    std::to_string(delivery->attempt));
  }
  if (delivery->key.empty()) return;
  for (const auto& other : stored()) {
    const bool of_key = other.subscription == delivery->subscription && other.key == delivery->key;
    if (!of_key || other.id == delivery->id || has_ended(other.state)) continue;
    if (other.state == DeliveryState::in_progress) {
      violated("delivery " + call.delivery.str() + " is in flight together with " + other.id.str() +
               " of its key");
    }
    const auto late = overtaken_by_.find(other.id);
    const bool came_later =
        late != overtaken_by_.end() && late->second.contains({call.delivery, call.attempt});
    if (other.sequence < delivery->sequence && !came_later) {
      violated("delivery " + call.delivery.str() + " overtakes " + other.id.str() + " of its key");
    }
  }
}

void HubWorld::stall(HubProcess& process) {
  if (quiet_) return;
  process.paused_until = clock.boot_now() + milliseconds(900 + random->below(600));
  note("process " + std::to_string(process.id) + " stands still before it writes");
  count("stalls");
}

void HubWorld::start_process() {
  processes_.push_back(std::make_unique<HubProcess>(*this, next_process_++));
}

void HubWorld::crash() {
  const auto which = random->below(processes_.size());
  note("process " + std::to_string(processes_[which]->id) + " crashes");
  processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(which));
  count("crashes");
}

void HubWorld::step(std::uint64_t dice) {
  if (dice < 640 && !processes_.empty()) {
    auto& process = *processes_[random->below(processes_.size())];
    if (process.paused_until <= clock.boot_now()) process.move(random->below(110));
  } else if (dice < 720) {
    endpoints.work();
  } else if (dice < 780) {
    work_on_transactions();
    end_requeue();
  } else if (dice < 975) {
    clock.advance(std::chrono::microseconds(random->below(quiet_ ? 10'000 : 8'000)));
  } else if (quiet_) {
    if (processes_.empty()) start_process();
  } else if (dice < 985) {
    publish_event();
  } else if (dice < 988) {
    disturb();
  } else if (dice < 990) {
    requeue();
  } else if (dice < 997) {
    if (processes_.size() < hub_processes_max) start_process();
  } else if (dice < 998 && !processes_.empty()) {
    crash();
  } else if (!processes_.empty()) {
    auto& process = *processes_[random->below(processes_.size())];
    process.paused_until = clock.boot_now() + milliseconds(random->below(2'500));
    note("process " + std::to_string(process.id) + " stands still");
    count("pauses");
  }
}

std::vector<DeliveryRecord> HubWorld::stored() {
  return calmly([&] { return store.hub()->admin.deliveries({.rows_max = 10'000}).value(); });
}

bool HubWorld::all_ended() {
  if (!pending_.empty() || requeue_ || !endpoints.idle()) return false;
  const auto events =
      calmly([&] { return store.hub()->admin.events({.rows_max = 10'000}).value(); });
  std::map<Shard, Sequence> last;
  for (const auto& event : events) last[event.shard] = std::max(last[event.shard], event.sequence);
  for (const auto& [shard, sequence] : last) {
    const auto position = calmly([&] {
      return store.hub()->events.positions(std::span(&shard, 1)).value().front().position;
    });
    if (position < sequence) return false;
  }
  return std::ranges::all_of(stored(),
                             [](const DeliveryRecord& one) { return has_ended(one.state); });
}

HubReport HubWorld::run() {
  for (; report_.events < hub_steps_busy && !report_.violation; ++report_.events) {
    step(random->below(1'000));
  }
  quiet_ = true;
  endpoints.be_good();
  for (const auto& rule : subscription_rules) {
    endpoints.set_down(target_of(rule.name), false);
    set_state(SubscriptionId::parse(rule.name).value(), SubscriptionState::active);
  }
  for (std::uint64_t quiet = 0; quiet < hub_steps_quiet && !report_.violation; ++quiet) {
    step(random->below(1'000));
    ++report_.events;
    if (quiet % 500 == 499 && all_ended()) break;
  }
  if (!report_.violation) check_end();
  for (const auto& line : trace_) report_.trace += line + "\n";
  return std::move(report_);
}

void HubWorld::check_end() {
  const auto deliveries = stored();
  for (const auto& delivery : deliveries) {
    if (has_ended(delivery.state)) continue;
    return violated("delivery " + delivery.id.str() + " to " + delivery.subscription.str() +
                    " does not end: " + std::string(delivery_state_name(delivery.state)) +
                    " at attempt " + std::to_string(delivery.attempt));
  }
  if (!all_ended()) return violated("events are not routed, or requests do not end");
  std::map<std::pair<EventId, SubscriptionId>, std::map<std::uint32_t, int>> made;
  for (const auto& delivery : deliveries) {
    ++made[{delivery.event, delivery.subscription}][delivery.generation];
    check_delivery(delivery);
  }
  for (const auto& [which, generations] : made) {
    for (const auto& [generation, times] : generations) {
      if (times != 1) {
        return violated("event " + which.first.str() + " has " + std::to_string(times) +
                        " deliveries to " + which.second.str());
      }
    }
  }
  for (const auto& event : published_) {
    for (const auto& rule : subscription_rules) {
      const auto subscription = SubscriptionId::parse(rule.name).value();
      const bool fits = rule.type == "shop.**" || event.message->topic().starts_with("shop.order");
      // What is disabled some time does not have all of them.
      if (!fits || rule.name == "gone" || made.contains({event.id, subscription})) continue;
      return violated("event " + event.id.str() + " has no delivery to " + subscription.str());
    }
  }
}

void HubWorld::check_delivery(const DeliveryRecord& delivery) {
  count(std::string(delivery_state_name(delivery.state)));
  const auto where = "delivery " + delivery.id.str() + ": ";
  const auto jobs = calmly([&] { return store.hub()->admin.attempts(delivery.id).value(); });
  if (jobs.size() != delivery.attempt) {
    return violated(where + std::to_string(jobs.size()) + " jobs, but " +
                    std::to_string(delivery.attempt) + " attempts");
  }
  std::uint32_t failures = 0;
  std::uint32_t completed = 0;
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    const auto& job = jobs[at];
    if (job.attempt != at + 1) return violated(where + "its attempts have a gap");
    if (!job.ended_at) return violated(where + "a job has not ended");
    failures += counts_as_failure(job.result) ? 1 : 0;
    completed += job.result.completed ? 1 : 0;
    if (job.result.code == Code::tx_lease_lost) count("jobs given up");
    if (endpoints.calls(delivery.id, job.attempt) > job.resets + 1) {
      return violated(where + "attempt " + std::to_string(job.attempt) + " was sent " +
                      std::to_string(endpoints.calls(delivery.id, job.attempt)) + " times");
    }
  }
  if (failures != delivery.failures) {
    return violated(where + std::to_string(failures) + " attempts failed, but " +
                    std::to_string(delivery.failures) + " count");
  }
  if (completed != (delivery.state == DeliveryState::completed ? 1U : 0U)) {
    return violated(where + "is " + std::string(delivery_state_name(delivery.state)) + ", but " +
                    std::to_string(completed) + " attempts succeeded");
  }
  const bool buried =
      calmly([&] { return store.hub()->admin.dead(delivery.id).value(); }).has_value();
  if (buried != (delivery.state == DeliveryState::dead)) {
    return violated(where + (buried ? "is not dead, and shown as" : "is dead without a snapshot"));
  }
}

}  // namespace

HubReport simulate_hub(std::uint64_t seed, HubVariant variant) {
  return HubWorld(seed, variant).run();
}

}  // namespace sagabox::simulation
