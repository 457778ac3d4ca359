#include "core/duration_text.hpp"
#include "core/text.hpp"
#include "delivery/cleaner/cleaner.hpp"
#include "delivery/hub_log.hpp"
#include "delivery/hub_upkeep.hpp"
#include "delivery/notices.hpp"
#include "delivery/orchestrator/orchestrator.hpp"
#include "delivery/orchestrator/orchestrator_threads.hpp"
#include "delivery/role_thread.hpp"
#include "delivery/router/router.hpp"
#include "delivery/secret_box.hpp"
#include "delivery/worker/worker.hpp"
#include "runtime/periodic_work.hpp"
#include "runtime/runtimes.hpp"
#include "spi/hub_rules.hpp"

#include <sagabox/hub.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

namespace sagabox {
namespace {

constexpr std::array<std::string_view, hub_role_count> hub_role_names{"router", "orchestrator",
                                                                      "worker", "cleaner"};
/// Whoever stops looks so often whether requests have ended.
constexpr Duration stop_poll = std::chrono::milliseconds(2);
/// Where the store tells of commits, looking is only a safety net.
constexpr Duration look_interval_told = std::chrono::seconds(5);

/// All that a process does now and then for its hub.
class HubUpkeep final : public runtime::PeriodicWork {
 public:
  void add(std::unique_ptr<runtime::PeriodicWork> work) { all_.push_back(std::move(work)); }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  bool step() override {
    bool more = false;
    for (const auto& one : all_) more = one->step() || more;
    return more;
  }
  [[nodiscard]] BootTime next(BootTime now) const override {
    auto next = BootTime::max();
    for (const auto& one : all_) next = std::min(next, one->next(now));
    return next;
  }

 private:
  std::vector<std::unique_ptr<runtime::PeriodicWork>> all_;
};

Status check_job_lease(const HubOptions& options) {
  using Settings = delivery::SubscriptionSettings;
  const auto longest = options.request_timeout_max;
  if (longest < Settings::timeout_min || longest > Settings::timeout_max) {
    return Error{Code::config_invalid, "request_timeout_max: " + exact_duration_text(longest) +
                                           " is not between " +
                                           exact_duration_text(Settings::timeout_min) + " and " +
                                           exact_duration_text(Settings::timeout_max)};
  }
  const auto shortest = longest + HubOptions::job_lease_margin;
  if (options.job_lease == Duration{} || options.job_lease >= shortest) return {};
  return Error{Code::config_invalid, "job_lease: " + exact_duration_text(options.job_lease) +
                                         " is too short for requests of request_timeout_max (" +
                                         exact_duration_text(longest) + ") and " +
                                         exact_duration_text(HubOptions::job_lease_margin) +
                                         " to write the result; give " +
                                         exact_duration_text(shortest) +
                                         " or more, or a shorter request_timeout_max"};
}

/// Wakes the router once what was published is there.
class EventRing final : public TransactionObserver {
 public:
  EventRing(spi::EventStore& events, Logger& log, std::span<const HubEvent> published,
            std::span<const Published> ids)
      : events_(events), log_(log) {
    if (!log.enabled(LogLevel::debug)) return;
    published_.assign(published.begin(), published.end());
    ids_.assign(ids.begin(), ids.end());
  }
  void committed() noexcept override {
    events_.wake();
    delivery::log_published(log_, published_, ids_);
  }
  void rolled_back() noexcept override {}
  void abandoned() noexcept override { events_.wake(); }

 private:
  spi::EventStore& events_;
  Logger& log_;
  std::vector<HubEvent> published_;  // empty unless each is logged
  std::vector<Published> ids_;
};

}  // namespace

std::string_view hub_role_name(HubRole role) noexcept {
  return hub_role_names[static_cast<std::size_t>(role)];
}

std::optional<HubRole> hub_role_from_name(std::string_view name) noexcept {
  const auto found = std::ranges::find(hub_role_names, name);
  if (found == hub_role_names.end()) return std::nullopt;
  return static_cast<HubRole>(found - hub_role_names.begin());
}

Status HubOptions::check() const {
  const auto wrong = [](std::string text) { return Error{Code::config_invalid, std::move(text)}; };
  if (requests_max == 0) return wrong("requests_max is 0; a worker needs at least one");
  if (requests_of_one_max == 0) return wrong("requests_of_one_max is 0; it must be at least 1");
  if (in_progress_max == 0) return wrong("in_progress_max is 0; nothing would ever be sent");
  if (poll_interval <= Duration{}) return wrong("poll_interval must be longer than 0");
  if (lease <= Duration{}) return wrong("lease must be longer than 0");
  if (auto status = check_job_lease(*this); !status.ok()) return status;
  if (retention < Duration{}) return wrong("retention must not be negative");
  if (dead_retention < Duration{}) return wrong("dead_retention must not be negative");
  if (trace_sample_ratio < 0 || trace_sample_ratio > 1) {
    return wrong("trace_sample_ratio must be from 0 to 1");
  }
  if (drain_timeout < Duration{}) return wrong("drain_timeout must not be negative");
  if (name.empty()) return wrong("name is empty; leases of jobs need one");
  return breaker.check();
}

struct Hub::Parts {
  enum class State : std::uint8_t { fresh, running, closed };

  Parts(Store& on, HubRoles tables, HubOptions settings, std::optional<delivery::SecretBox> keys)
      : store(on),
        roles(tables),
        options(std::move(settings)),
        box(std::move(keys)),
        ids(*options.clock, *options.random) {}

  [[nodiscard]] bool has(HubRole role) const { return options.roles.contains(role); }

  void start();
  void add_router();
  void add_orchestrator();
  void add_worker();
  void add_cleaner();
  void add_stand_by();
  [[nodiscard]] bool stands_by() const { return stand_by && stand_by->stands_by(); }
  void timeline_changed() const {
    if (worker) worker->timeline_changed();
  }
  [[nodiscard]] Status stop();
  [[nodiscard]] Result<HubEvent> event_of(NewEvent event);
  [[nodiscard]] Result<std::vector<Published>> write(Transaction& tx,
                                                     const std::vector<HubEvent>& events);
  [[nodiscard]] Status tell(const SubscriptionRecord& record);

  Store& store;
  const HubRoles roles;
  const HubOptions options;
  const std::optional<delivery::SecretBox> box;
  UlidSource ids;
  // Those that tell others are made after them, and end before.
  std::unique_ptr<delivery::Orchestrator> orchestrator;
  std::unique_ptr<delivery::OrchestratorThreads> orchestrator_threads;
  std::unique_ptr<delivery::Router> router;
  std::unique_ptr<delivery::RoleThread> router_thread;
  /// Why its thread is woken: it need not look for jobs for any other reason.
  std::atomic<bool> worker_knows{false};
  std::unique_ptr<delivery::Worker> worker;
  std::unique_ptr<delivery::RoleThread> worker_thread;
  HubUpkeep upkeep;
  const delivery::HubStandBy* stand_by = nullptr;  // null: any number of processes may work
  runtime::Engine engine;
  std::unique_ptr<runtime::Registration> registration;
  mutable std::mutex mutex;  // of state
  State state = State::fresh;
};

void Hub::Parts::add_orchestrator() {
  const auto capabilities = roles.events.capabilities();
  delivery::OrchestratorOptions settings{.in_progress_max = options.in_progress_max,
                                         .window_max = options.requests_of_one_max,
                                         .poll_interval = options.poll_interval,
                                         .breaker = options.breaker};
  if (capabilities.notifies) settings.look_interval = look_interval_told;
  if (options.retention > Duration{}) settings.history = options.retention;
  orchestrator = std::make_unique<delivery::Orchestrator>(
      delivery::OrchestratorParts{.store = roles.deliveries,
                                  .health = roles.admin,
                                  .audit = &store.audit(),
                                  .clock = *options.clock,
                                  .random = *options.random,
                                  .metrics = *options.metrics,
                                  .log = *options.log,
                                  .wake_starter = [this] { orchestrator_threads->wake_starter(); },
                                  .wake_ender = [this] { orchestrator_threads->wake_ender(); },
                                  .made_jobs =
                                      [this] {
                                        if (worker) worker->wake();
                                      },
                                  .timeline_changed = [this] { timeline_changed(); }},
      settings, capabilities.shards);
  orchestrator_threads = std::make_unique<delivery::OrchestratorThreads>(
      roles.deliveries, *options.clock, *orchestrator);
  engine.scopes.push_back({.options = {.scope = spi::Scope(delivery::Orchestrator::scope),
                                       .shards = capabilities.shards,
                                       .share = ownership::Share::even,
                                       .holder = orchestrator.get()},
                           .stages = orchestrator_threads->stages()});
  const auto mine = [this] { return orchestrator->owns(Shard{0}); };
  upkeep.add(std::make_unique<delivery::HubPurger>(
      delivery::HubPurger::Parts{.store = roles.admin,
                                 .clock = *options.clock,
                                 .metrics = *options.metrics,
                                 .log = *options.log,
                                 .retention = options.retention,
                                 .dead_retention = options.dead_retention,
                                 .mine = mine}));
  upkeep.add(std::make_unique<delivery::HubBacklog>(
      delivery::HubFigureReader::Parts{.store = roles.admin,
                                       .clock = *options.clock,
                                       .metrics = *options.metrics,
                                       .log = *options.log,
                                       .mine = mine}));
  upkeep.add(std::make_unique<delivery::DisabledNotices>(delivery::DisabledNotices::Parts{
      .orchestrator = *orchestrator,
      .clock = *options.clock,
      .log = *options.log,
      .publish = [this](const SubscriptionRecord& record) { return tell(record); }}));
}

void Hub::Parts::add_router() {
  router = std::make_unique<delivery::Router>(
      delivery::RouterParts{.events = roles.events,
                            .deliveries = roles.deliveries,
                            .types = &options.event_types,
                            .audit = &store.audit(),
                            .clock = *options.clock,
                            .metrics = *options.metrics,
                            .log = *options.log,
                            .wake = [this] { roles.events.wake(); },
                            .timeline_changed = [this] { timeline_changed(); },
                            .added =
                                [this](std::span<const DeliveryRecord> deliveries) {
                                  if (orchestrator) orchestrator->added(deliveries);
                                }},
      delivery::RouterOptions{.poll_interval = options.poll_interval});
  router_thread = std::make_unique<delivery::RoleThread>(
      delivery::RoleThread::Parts{.step = [this] { return router->step(); },
                                  .next = [this](BootTime now) { return router->next(now); },
                                  .wait = [this](Duration timeout) { roles.events.wait(timeout); },
                                  .wake = [this] { roles.events.wake(); },
                                  .look = [this] { router->wake(); },
                                  .clock = *options.clock});
  engine.scopes.push_back({.options = {.scope = spi::Scope(delivery::Router::scope),
                                       .shards = roles.events.capabilities().shards,
                                       .share = ownership::Share::even,
                                       .holder = router.get()},
                           .stages = {&router_thread->watch()}});
  upkeep.add(std::make_unique<delivery::HubRoutingLag>(
      delivery::HubFigureReader::Parts{.store = roles.admin,
                                       .clock = *options.clock,
                                       .metrics = *options.metrics,
                                       .log = *options.log,
                                       .mine = [this] { return router->owns(Shard{0}); }}));
}

void Hub::Parts::add_worker() {
  worker = std::make_unique<delivery::Worker>(
      delivery::JobWorkerParts{
          .jobs = roles.jobs,
          .secrets = roles.subscriptions,
          .subscriptions =
              [this](std::uint64_t after) { return roles.deliveries.subscriptions(after); },
          .transports = options.transports,
          .box = box ? &*box : nullptr,
          .ids = ids,
          .clock = *options.clock,
          .metrics = *options.metrics,
          .log = *options.log,
          .tracing = {.spans = options.spans,
                      .sample_ratio = options.trace_sample_ratio,
                      .random = options.random},
          .wake =
              [this] {
                worker_knows.store(true);
                roles.jobs.wake();
              },
          .may_lease = [this] { return !stands_by(); },
          .finished =
              [this](std::span<const spi::FinishedJob> jobs) {
                if (orchestrator) orchestrator->ended(jobs);
              }},
      delivery::JobWorkerOptions{.name = options.name,
                                 .in_hand_max = options.requests_max,
                                 .request_timeout_max = options.request_timeout_max,
                                 .lease = options.job_lease,
                                 .lease_margin = HubOptions::job_lease_margin,
                                 .poll_interval = options.poll_interval});
  worker_thread = std::make_unique<delivery::RoleThread>(
      delivery::RoleThread::Parts{.step = [this] { return worker->step(); },
                                  .next = [this](BootTime now) { return worker->next(now); },
                                  .wait = [this](Duration timeout) { roles.jobs.wait(timeout); },
                                  .wake = [this] { roles.jobs.wake(); },
                                  // A result is no reason to look for jobs; the poll is.
                                  .look =
                                      [this] {
                                        if (!worker_knows.exchange(false)) worker->wake();
                                      },
                                  .clock = *options.clock});
}

void Hub::Parts::add_cleaner() {
  upkeep.add(std::make_unique<delivery::Cleaner>(
      delivery::CleanerParts{.jobs = roles.jobs,
                             .clock = *options.clock,
                             .metrics = *options.metrics,
                             .log = *options.log,
                             .may_reset = [this] { return !stands_by(); }}));
}

void Hub::Parts::add_stand_by() {
  if (options.roles.empty() || !roles.events.capabilities().one_process) return;
  auto made = std::make_unique<delivery::HubStandBy>(
      delivery::HubStandBy::Parts{.ownership = store.ownership(),
                                  .store = store.name(),
                                  .clock = *options.clock,
                                  .log = *options.log,
                                  .free = [this] {
                                    if (!worker) return;
                                    worker_knows.store(true);
                                    worker->wake();
                                    roles.jobs.wake();
                                  }});
  // Before the first job is leased.
  made->step();
  stand_by = made.get();
  upkeep.add(std::move(made));
}

void Hub::Parts::start() {
  engine.lease = options.lease;
  add_stand_by();
  if (has(HubRole::orchestrator)) add_orchestrator();
  if (has(HubRole::router)) add_router();
  if (has(HubRole::worker)) add_worker();
  if (has(HubRole::cleaner)) add_cleaner();
  if (!upkeep.empty()) engine.work = &upkeep;
  engine.attach = [this](ownership::Worker& leases) {
    if (orchestrator) orchestrator->attach(leases);
    if (router) router->attach(leases);
  };
  if (!engine.scopes.empty() || engine.work != nullptr) {
    registration = runtime::join({.ownership = &store.ownership(),
                                  .clock = options.clock,
                                  .random = options.random,
                                  .metrics = options.metrics,
                                  .log = options.log},
                                 engine);
  }
  if (orchestrator) orchestrator_threads->start();
  if (router) router_thread->start();
  if (worker) worker_thread->start();
}

Status Hub::Parts::stop() {
  const auto limit = options.clock->boot_now() + options.drain_timeout;
  if (worker) worker->stop();
  if (registration) registration->hand_over(limit);
  while (worker && !worker->idle() && options.clock->boot_now() < limit) {
    std::this_thread::sleep_for(stop_poll);
  }
  const auto busy = worker ? worker->snapshot().in_hand : 0;
  if (worker) worker_thread->stop();
  if (router) router_thread->stop();
  if (orchestrator) orchestrator_threads->stop();
  if (registration) registration->end();
  if (busy == 0) return {};
  return Error{Code::tx_timeout, std::to_string(busy) +
                                     " requests have not ended within the drain limit; other "
                                     "workers make them again once their leases have run out"};
}

Result<HubEvent> Hub::Parts::event_of(NewEvent event) {
  HubEvent made{.id = ids.next<EventId>(),
                .message = nullptr,
                .source = std::move(event.source),
                .external_id = std::move(event.external_id)};
  // An id that its author has chosen is unique for the tenant only.
  if (made.external_id.empty()) made.external_id = std::move(event.message.id);
  event.message.id = made.id.str();
  auto message = Message::build_shared(std::move(event.message), {}, ids, *options.clock);
  if (!message.ok()) return message.error();
  made.message = std::move(message).value();
  return made;
}

Result<std::vector<Published>> Hub::Parts::write(Transaction& tx,
                                                 const std::vector<HubEvent>& events) {
  auto published = tx.events().publish(events);
  if (published.ok()) {
    tx.observe(std::make_unique<EventRing>(roles.events, *options.log, events, *published));
  }
  return published;
}

Status Hub::Parts::tell(const SubscriptionRecord& record) {
  auto event = delivery::subscription_disabled(record, ids, *options.clock);
  if (!event.ok()) return event.error();
  const auto published =
      store.transaction([&](OwnedTransaction& tx) { return write(tx, {*std::move(event)}); });
  return published.ok() ? Status() : Status(published.error());
}

Hub::Hub(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Hub::Hub(Hub&&) noexcept = default;
Hub& Hub::operator=(Hub&& other) noexcept {
  if (this == &other) return *this;
  Hub ending(std::move(*this));
  parts_ = std::move(other.parts_);
  return *this;
}
Hub::~Hub() {
  if (parts_) (void)stop();
}

Result<Hub> Hub::create(Store& store, HubOptions options) {
  if (auto checked = options.check(); !checked.ok()) return checked.error();
  const auto roles = store.hub();
  if (!roles) return Error{Code::config_invalid, store.name() + " has no delivery hub"};
  std::optional<delivery::SecretBox> box;
  if (!options.secret_key.empty()) {
    auto made = delivery::SecretBox::create(options.secret_key);
    if (!made.ok()) return made.error();
    box.emplace(std::move(made).value());
  }
  if (auto prepared = roles->events.prepare(); !prepared.ok()) return prepared.error();
  return Hub(std::make_unique<Parts>(store, *roles, std::move(options), std::move(box)));
}

Status Hub::start() {
  const std::scoped_lock lock(parts_->mutex);
  if (parts_->state != Parts::State::fresh) {
    return Error{Code::tx_invalid_state, "start() was called before; make another hub instead"};
  }
  parts_->state = Parts::State::running;
  parts_->start();
  return {};
}

Status Hub::stop() {
  const std::scoped_lock lock(parts_->mutex);
  const auto was = std::exchange(parts_->state, Parts::State::closed);
  if (was != Parts::State::running) return {};
  return parts_->stop();
}

Result<std::vector<Published>> Hub::publish(Transaction& tx, std::vector<NewEvent> events) {
  std::vector<HubEvent> made;
  made.reserve(events.size());
  for (auto& event : events) {
    auto one = parts_->event_of(std::move(event));
    if (!one.ok()) return one.error();
    if (auto foreign = spi::check_foreign(*one); !foreign.ok()) return foreign.error();
    if (auto fits = parts_->options.event_types.check(*one); !fits.ok()) return fits.error();
    made.push_back(std::move(one).value());
  }
  return parts_->write(tx, made);
}

Result<Published> Hub::publish(Transaction& tx, NewEvent event) {
  std::vector<NewEvent> events;
  events.push_back(std::move(event));
  auto published = publish(tx, std::move(events));
  if (!published.ok()) return published.error();
  return published->front();
}

Result<Published> Hub::publish(NewEvent event) {
  return parts_->store.transaction(
      [&](OwnedTransaction& tx) -> Result<Published> { return publish(tx, std::move(event)); });
}

void Hub::subscriptions_changed() {
  const std::scoped_lock lock(parts_->mutex);
  if (parts_->orchestrator) parts_->orchestrator->subscriptions_changed();
}

HubSnapshot Hub::snapshot() const {
  HubSnapshot snapshot;
  const std::scoped_lock lock(parts_->mutex);
  if (parts_->router) {
    const auto router = parts_->router->snapshot();
    snapshot.routing_shards = router.shards_owned;
    snapshot.routed = router.events;
    snapshot.unfit = router.unfit;
    snapshot.refused = router.refused;
    snapshot.deliveries = router.deliveries;
  }
  snapshot.stands_by = parts_->stands_by();
  if (parts_->worker) snapshot.requests = parts_->worker->snapshot().in_hand;
  if (!parts_->orchestrator) return snapshot;
  const auto deliveries = parts_->orchestrator->snapshot();
  snapshot.delivery_shards = deliveries.shards_owned;
  snapshot.in_progress = deliveries.in_progress;
  snapshot.ready = deliveries.ready;
  snapshot.endpoints_down = deliveries.endpoints_down;
  snapshot.findings = deliveries.findings;
  snapshot.completed = deliveries.completed;
  snapshot.failed = deliveries.failed;
  snapshot.dead = deliveries.dead;
  return snapshot;
}

std::optional<EndpointState> Hub::endpoint(const SubscriptionId& subscription) const {
  const std::scoped_lock lock(parts_->mutex);
  return parts_->orchestrator ? parts_->orchestrator->endpoint(subscription) : std::nullopt;
}

std::vector<HubFinding> Hub::findings(std::size_t rows_max) const {
  std::vector<HubFinding> found;
  const std::scoped_lock lock(parts_->mutex);
  if (!parts_->orchestrator) return found;
  for (auto& one : parts_->orchestrator->findings(rows_max)) {
    found.push_back(
        {.delivery = one.id, .code = one.code, .text = std::move(one.text), .since = one.since});
  }
  return found;
}

}  // namespace sagabox
