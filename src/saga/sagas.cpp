#include "core/text.hpp"
#include "runtime/periodic_work.hpp"
#include "runtime/runtimes.hpp"
#include "saga/backlog.hpp"
#include "saga/calls/functions.hpp"
#include "saga/calls/participants.hpp"
#include "saga/calls/reply_token.hpp"
#include "saga/calls/traced_calls.hpp"
#include "saga/orchestrator/orchestrator.hpp"
#include "saga/orchestrator/threads.hpp"
#include "saga/purger.hpp"
#include "saga/requests.hpp"
#include "saga/stray_search.hpp"
#include "saga/waiters.hpp"

#include <sagabox/saga.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace sagabox {
namespace {

/// Where another process owns the saga, its result is looked for so often.
constexpr Duration look_interval = std::chrono::milliseconds(20);

/// Hands each call to the caller that makes it.
class Callers final : public saga::Caller {
 public:
  Callers(saga::Functions& functions, saga::RemoteParticipants& remote)
      : functions_(functions), remote_(remote) {}

  void call(std::vector<saga::CallOrder> orders, saga::CallResults& results) override {
    std::vector<saga::CallOrder> requests;
    std::vector<saga::CallOrder> local;
    for (auto& order : orders) {
      const bool is_remote = order.call.target.kind == saga::Target::Kind::http;
      (is_remote ? requests : local).push_back(std::move(order));
    }
    if (!requests.empty()) remote_.call(std::move(requests), results);
    if (!local.empty()) functions_.call(std::move(local), results);
  }
  void abandon(saga::CallTicket ticket) override {
    functions_.abandon(ticket);
    remote_.abandon(ticket);
  }
  bool withdraw(saga::CallTicket ticket) override { return functions_.withdraw(ticket); }

 private:
  saga::Functions& functions_;
  saga::RemoteParticipants& remote_;
};

/// All that a process does now and then for its definitions.
class Upkeep final : public runtime::PeriodicWork {
 public:
  Upkeep(saga::Purger& purger, saga::Backlog& backlog, saga::StraySearch& strays)
      : purger_(purger), backlog_(backlog), strays_(strays) {}
  bool step() override {
    const bool purges = purger_.step();
    const bool looks = strays_.step();
    return backlog_.step() || purges || looks;
  }
  [[nodiscard]] BootTime next(BootTime now) const override {
    return std::min({purger_.next(now), backlog_.next(now), strays_.next(now)});
  }

 private:
  saga::Purger& purger_;
  saga::Backlog& backlog_;
  saga::StraySearch& strays_;
};

WallTime::duration reply_ttl_of(const SagaOptions& options) {
  return std::chrono::floor<WallTime::duration>(options.reply_token_ttl);
}

SagaRequestReply reply_of(const SagaCommandResult& result) {
  using State = SagaRequestReply::State;
  return {.id = result.id,
          .state = result.applied ? State::applied : State::refused,
          .reason = result.reason};
}

class Rings final : public TransactionObserver {
 public:
  Rings(spi::SagaStore& store, std::string definition)
      : store_(store), definition_(std::move(definition)) {}
  void committed() noexcept override { store_.wake(definition_); }
  void rolled_back() noexcept override {}
  void abandoned() noexcept override { store_.wake(definition_); }

 private:
  spi::SagaStore& store_;
  const std::string definition_;
};

}  // namespace

Status SagaLimits::check() const {
  const auto check_one = [](const std::string& name, const Limits& limits) -> Status {
    auto checked = limits.check();
    if (checked.ok()) return checked;
    return Error{checked.error().code, "limits of " + name + ": " + checked.error().message};
  };
  for (const auto& [name, limits] :
       {std::pair("participant", &participant), std::pair("definition", &definition),
        std::pair("tenant", &tenant)}) {
    if (auto checked = check_one(name, *limits); !checked.ok()) return checked;
  }
  for (const auto* const named : {&transports, &participants, &definitions, &tenants}) {
    for (const auto& [name, limits] : *named) {
      if (auto checked = check_one(name, limits); !checked.ok()) return checked;
    }
  }
  return {};
}

Status SagaOptions::check() const {
  const auto wrong = [](std::string text) { return Error{Code::config_invalid, std::move(text)}; };
  if (workers == 0) return wrong("workers is 0; functions need at least one thread");
  if (instances_max == 0) return wrong("instances_max is 0; say how many sagas may be in memory");
  if (calls_max == 0) return wrong("calls_max is 0; say how many calls may run");
  if (batch_sagas_max == 0) return wrong("batch_sagas_max is 0; a batch has at least one saga");
  if (poll_interval <= Duration{}) return wrong("poll_interval must be longer than 0");
  if (auto checked = breaker.check(); !checked.ok()) return checked;
  if (auto checked = limits.check(); !checked.ok()) return checked;
  if (lease <= Duration{}) return wrong("lease must be longer than 0");
  for (const auto& [name, secret] : {std::pair("reply_secret", &reply_secret),
                                     std::pair("reply_secret_before", &reply_secret_before)}) {
    if (secret->empty() || secret->size() >= reply_secret_length_min) continue;
    return wrong(std::string(name) + " has " + std::to_string(secret->size()) +
                 " characters; give at least " + std::to_string(reply_secret_length_min) +
                 ", drawn at random: whoever has a token could guess a short one");
  }
  if (reply_secret.empty() && !reply_secret_before.empty()) {
    return wrong("reply_secret_before needs a reply_secret, which new tokens are made with");
  }
  if (reply_token_ttl <= Duration{}) return wrong("reply_token_ttl must be longer than 0");
  if (trace_sample_ratio < 0 || trace_sample_ratio > 1) {
    return wrong("trace_sample_ratio must be from 0 to 1");
  }
  if (retention < Duration{}) return wrong("retention must not be negative");
  if (remember < Duration{}) return wrong("remember must not be negative");
  if (drain_timeout < Duration{}) return wrong("drain_timeout must not be negative");
  return {};
}

struct Sagas::Parts {
  enum class State : std::uint8_t { fresh, running, closed };
  struct Running {
    std::unique_ptr<saga::Orchestrator> orchestrator;
    std::unique_ptr<saga::Threads> threads;
  };

  Parts(Store& on, spi::SagaStore& rows, SagaOptions settings)
      : store(on),
        sagas(rows),
        options(std::move(settings)),
        ids(*options.clock, *options.random),
        functions({.workers = options.workers,
                   .spare_workers_max = options.spare_workers_max,
                   .reply_secret = options.reply_secret,
                   .reply_ttl = reply_ttl_of(options),
                   .clock = options.clock,
                   .log = options.log}),
        remote({.transports = options.transports,
                .settings = options.participant_settings,
                .settings_of_definition = options.settings_of_definition,
                .breaker = options.breaker,
                .limits = options.limits,
                .reply_secret = options.reply_secret,
                .reply_ttl = reply_ttl_of(options),
                .clock = options.clock,
                .random = options.random}) {}

  [[nodiscard]] Status define(SagaDefinition definition) {
    auto plan = saga::Plan::make(std::move(definition));
    if (!plan.ok()) return plan.error();
    const auto& given = plan->definition();
    for (const auto& step : plan->steps()) {
      for (const auto* target : {&step.action, &step.compensation}) {
        if (auto known = check_target(given.name, step.given.name, *target); !known.ok())
          return known;
      }
    }
    if (auto stored = sagas.define(given.record(options.clock->wall_now())); !stored.ok()) {
      return stored;
    }
    books[given.name].add(*plan);
    return {};
  }

  [[nodiscard]] Status check_target(const std::string& definition, const std::string& step,
                                    const saga::Target& target) {
    using Kind = saga::Target::Kind;
    if (target.kind == Kind::function && !functions.has(target.name)) {
      return Error{Code::config_invalid, "step " + quoted(step) + ": there is no function " +
                                             quoted(target.name) +
                                             "; register it with function() first"};
    }
    if (target.kind == Kind::http) {
      if (auto added = remote.add(definition, target.name); !added.ok()) {
        return Error{added.error().code, "step " + quoted(step) + ": " + added.error().message};
      }
    }
    return {};
  }

  void start() {
    engine.lease = options.lease;
    for (const auto& [name, book] : books) add(name, book);
    if (engine.scopes.empty()) return;
    // One process at a time does it.
    const auto mine = [this] {
      std::vector<std::string> names;
      for (const auto& [name, one] : running) {
        if (one.orchestrator->owns(Shard{0})) names.push_back(name);
      }
      return names;
    };
    purger = std::make_unique<saga::Purger>(store.saga_admin(), *options.clock, *options.log,
                                            options.retention, mine);
    strays =
        std::make_unique<saga::StraySearch>(saga::StraySearch::Parts{.store = store.saga_admin(),
                                                                     .clock = *options.clock,
                                                                     .metrics = *options.metrics,
                                                                     .log = *options.log,
                                                                     .mine = mine});
    backlog = std::make_unique<saga::Backlog>(store.saga_admin(), definition_names(),
                                              *options.clock, *options.metrics, *options.log);
    upkeep.emplace(*purger, *backlog, *strays);
    engine.work = &*upkeep;
    engine.attach = [this](ownership::Worker& worker) {
      for (auto& [name, one] : running) one.orchestrator->attach(worker);
    };
    registration = runtime::join({.ownership = &store.ownership(),
                                  .clock = options.clock,
                                  .random = options.random,
                                  .metrics = options.metrics,
                                  .log = options.log},
                                 engine);
    for (auto& [name, one] : running) one.threads->start();
  }

  void add(const std::string& name, const saga::PlanBook& book) {
    auto& one = running[name];
    one.orchestrator = std::make_unique<saga::Orchestrator>(
        saga::OrchestratorParts{
            .store = sagas,
            .definition = name,
            .plans = book,
            .caller = traced,
            .tickets = tickets,
            .ids = ids,
            .clock = *options.clock,
            .random = *options.random,
            .metrics = *options.metrics,
            .log = *options.log,
            .reply_secret = options.reply_secret,
            .reply_ttl = reply_ttl_of(options),
            .told = [this](const SagaCommandResult& result) { waiters.told(result); },
            .wrote_messages = [this](const TableName& table) { store.outbox().wake(table); },
            .wake_writer = [&one] { one.threads->wake_writer(); },
            .wake_reader = [this, name] { sagas.wake(name); }},
        saga::OrchestratorOptions{.instances_max = options.instances_max,
                                  .calls_max = options.calls_max,
                                  .batch_sagas_max = options.batch_sagas_max,
                                  .drain = options.drain_timeout / 2,
                                  .poll_interval = options.poll_interval,
                                  .remember = options.remember});
    one.threads = std::make_unique<saga::Threads>(sagas, name, *options.clock, *one.orchestrator);
    engine.scopes.push_back({.options = {.scope = saga::Orchestrator::scope_of(name),
                                         .shards = sagas.capabilities().shards,
                                         .share = ownership::Share::even,
                                         .holder = one.orchestrator.get()},
                             .stages = one.threads->stages()});
  }

  [[nodiscard]] std::vector<std::string> definition_names() const {
    std::vector<std::string> names;
    for (const auto& [name, book] : books) names.push_back(name);
    return names;
  }

  [[nodiscard]] Status stop() {
    if (registration) {
      registration->hand_over(options.clock->boot_now() + options.drain_timeout,
                              [this] { (void)functions.begin_stop(); });
    }
    const auto busy = functions.begin_stop();
    for (auto& [name, one] : running) one.threads->stop();
    if (registration) registration->end();
    if (busy == 0) return {};
    return Error{Code::tx_timeout,
                 std::to_string(busy) +
                     " functions still run after the drain limit; whoever owns " +
                     "their sagas next calls them again, or treats them as in doubt"};
  }

  Store& store;
  spi::SagaStore& sagas;
  const SagaOptions options;
  UlidSource ids;
  saga::Waiters waiters;
  std::map<std::string, saga::PlanBook> books;
  std::map<std::string, Running> running;
  std::atomic<std::uint64_t> tickets{0};
  saga::TracedCalls traced{callers,
                           {.spans = options.spans,
                            .sample_ratio = options.trace_sample_ratio,
                            .clock = options.clock,
                            .random = options.random}};
  saga::Functions functions;  // their threads tell orchestrators
  saga::RemoteParticipants remote;
  Callers callers{functions, remote};
  std::unique_ptr<saga::Purger> purger;
  std::unique_ptr<saga::Backlog> backlog;
  std::unique_ptr<saga::StraySearch> strays;
  std::optional<Upkeep> upkeep;
  runtime::Engine engine;
  std::unique_ptr<runtime::Registration> registration;
  mutable std::mutex mutex;  // of state
  State state = State::fresh;
};

Sagas::Sagas(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Sagas::Sagas(Sagas&&) noexcept = default;
Sagas& Sagas::operator=(Sagas&& other) noexcept {
  if (this == &other) return *this;
  Sagas ending(std::move(*this));
  parts_ = std::move(other.parts_);
  return *this;
}
Sagas::~Sagas() {
  if (parts_) (void)stop();
}

Result<Sagas> Sagas::create(Store& store, SagaOptions options) {
  if (auto checked = options.check(); !checked.ok()) return checked.error();
  auto* const sagas = store.sagas();
  if (sagas == nullptr) return Error{Code::config_invalid, store.name() + " has no sagas"};
  if (auto prepared = sagas->prepare(); !prepared.ok()) return prepared.error();
  return Sagas(std::make_unique<Parts>(store, *sagas, std::move(options)));
}

Status Sagas::function(std::string name, SagaFunction function) {
  const std::scoped_lock lock(parts_->mutex);
  if (parts_->state != Parts::State::fresh) {
    return Error{Code::tx_invalid_state, "function() came after start(); register functions first"};
  }
  return parts_->functions.add(std::move(name), std::move(function));
}

Status Sagas::define(SagaDefinition definition) {
  const std::scoped_lock lock(parts_->mutex);
  if (parts_->state != Parts::State::fresh) {
    return Error{Code::tx_invalid_state, "define() came after start(); define sagas first"};
  }
  return parts_->define(std::move(definition));
}

Status Sagas::start() {
  const std::scoped_lock lock(parts_->mutex);
  if (parts_->state != Parts::State::fresh) {
    return Error{Code::tx_invalid_state, "start() was called before; open new sagas instead"};
  }
  parts_->state = Parts::State::running;
  parts_->start();
  return {};
}

Status Sagas::stop() {
  const std::scoped_lock lock(parts_->mutex);
  const auto was = std::exchange(parts_->state, Parts::State::closed);
  if (was != Parts::State::running) return {};
  return parts_->stop();
}

Result<SagaId> Sagas::start_saga(Transaction& tx, const SagaStart& start) {
  auto command = saga::start_command(start, parts_->ids);
  if (!command.ok()) return command.error();
  if (auto written = tx.sagas().append(std::span(&*command, 1)); !written.ok()) {
    return written.error();
  }
  tx.observe(std::make_unique<Rings>(parts_->sagas, start.definition));
  return command->saga;
}

Result<SagaId> Sagas::start_saga(const SagaStart& start) {
  return parts_->store.transaction(
      [&](OwnedTransaction& tx) -> Result<SagaId> { return start_saga(tx, start); });
}

Result<CommandId> Sagas::request(Transaction& tx, const SagaRequest& request) {
  auto asked = request;
  if (asked.definition.empty()) {
    auto* const admin = parts_->store.saga_admin();
    auto found = admin == nullptr ? Result<std::optional<SagaRecord>>(std::optional<SagaRecord>())
                                  : admin->get(request.saga);
    if (!found.ok()) return found.error();
    if (!found->has_value()) {
      return Error{Code::request_not_found,
                   "there is no saga " + request.saga.str() +
                       "; name its definition if it is only being started"};
    }
    asked.definition = (*found)->definition;
  }
  auto command = saga::request_command(asked, parts_->ids);
  if (!command.ok()) return command.error();
  if (auto written = tx.sagas().append(std::span(&*command, 1)); !written.ok()) {
    return written.error();
  }
  tx.observe(std::make_unique<Rings>(parts_->sagas, asked.definition));
  return command->id;
}

Result<SagaRequestReply> Sagas::request(const SagaRequest& request, Duration limit) {
  auto asked = request;
  if (asked.id.empty()) {
    asked.id = parts_->ids.next<CommandId>();
  } else {
    const auto known = parts_->sagas.results(std::span(&asked.id, 1));
    if (!known.ok()) return known.error();
    if (!known->empty()) {
      if (known->front().saga != asked.saga) return saga::id_of_another_saga(asked.id);
      return reply_of(known->front());
    }
  }
  const auto id = asked.id;
  parts_->waiters.expect(id);
  auto written = parts_->store.transaction(
      [&](OwnedTransaction& tx) -> Result<CommandId> { return this->request(tx, asked); });
  if (!written.ok()) {
    parts_->waiters.forget(id);
    return written.error();
  }
  const auto until = parts_->options.clock->boot_now() + limit;
  SagaRequestReply reply{.id = id};
  while (true) {
    const auto left = until - parts_->options.clock->boot_now();
    auto result = parts_->waiters.wait(id, std::clamp(left, Duration{}, look_interval));
    if (!result) {
      // Another process may own it.
      auto stored = parts_->sagas.results(std::span(&id, 1));
      if (stored.ok() && !stored->empty()) result = stored->front();
    }
    if (result) {
      // Another saga's result says nothing about this request, which is pending.
      if (result->saga == asked.saga) reply = reply_of(*result);
      break;
    }
    if (left <= Duration{}) break;
  }
  parts_->waiters.forget(id);
  return reply;
}

Result<SagaRequestReply> Sagas::reply(std::string_view token, SagaAnswer answer, Duration limit) {
  auto claim = saga::read_reply_token(
      token, {parts_->options.reply_secret, parts_->options.reply_secret_before},
      parts_->options.clock->wall_now());
  if (!claim.ok()) return claim.error();
  return request({.saga = claim->saga,
                  .kind = SagaCommandKind::reply,
                  .tenant = claim->tenant,
                  .definition = claim->definition,
                  .step = claim->step,
                  .direction = claim->direction,
                  .round = claim->round,
                  .answer = std::move(answer)},
                 limit);
}

SagasSnapshot Sagas::snapshot() const {
  const std::scoped_lock lock(parts_->mutex);
  SagasSnapshot all;
  for (const auto& [name, one] : parts_->running) {
    const auto part = one.orchestrator->snapshot();
    all.shards_owned += part.shards_owned;
    all.in_memory += part.instances;
    all.calls += part.calls;
    all.started += part.started;
    all.completed += part.completed;
    all.compensated += part.cancelled;
    all.failed += part.failed;
    all.batches += part.batches;
    all.findings += part.findings;
  }
  return all;
}

std::vector<SagaFinding> Sagas::findings(std::size_t rows_max) const {
  const std::scoped_lock lock(parts_->mutex);
  std::vector<SagaFinding> all;
  for (const auto& [name, one] : parts_->running) {
    for (auto& finding : one.orchestrator->findings(rows_max - all.size())) {
      all.push_back({.definition = name,
                     .saga = finding.id,
                     .code = finding.code,
                     .text = std::move(finding.text),
                     .since = finding.since});
    }
  }
  return all;
}

}  // namespace sagabox
