#include "assembly/daemon.hpp"

#include "assembly/configuration_changes.hpp"
#include "assembly/saga_file.hpp"
#include "core/duration_text.hpp"
#include "core/text.hpp"
#include "saga/calls/participants.hpp"

#include <algorithm>
#include <future>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::assembly {
namespace {

using Change = Setting::Change;

std::string path_of(const StoreSettings& store, const TableSettings& table) {
  return "stores." + store.name + ".tables." + table.options.table;
}

const TableSettings* find_table(const Configuration& configuration, const std::string& store,
                                const std::string& table) {
  for (const auto& one : configuration.stores) {
    if (one.name != store) continue;
    for (const auto& settings : one.tables) {
      if (settings.options.table == table) return &settings;
    }
  }
  return nullptr;
}

/// The effective configuration after all settings of `next` that can change at run time.
Configuration merged(const Configuration& current, const Configuration& next) {
  auto made = current;
  made.defaults = next.defaults;
  made.routes = next.routes;
  made.transports = next.transports;
  made.traffic = next.traffic;
  made.watch = next.watch;
  made.log.level = next.log.level;
  for (auto& store : made.stores) {
    const auto same = std::ranges::find(next.stores, store.name, &StoreSettings::name);
    if (same != next.stores.end()) store.defaults = same->defaults;
    for (auto& table : store.tables) {
      const auto* const other = find_table(next, store.name, table.options.table);
      if (other == nullptr) continue;
      const auto claim = table.options.claim;
      table.preset = other->preset;
      table.options = other->options;
      table.options.claim = claim;
    }
  }
  return made;
}

using Problems = std::vector<Error>;

void add(Status checked, Problems& problems) {
  if (!checked.ok()) problems.push_back(checked.error());
}

/// In paths of the REST API and for operators, a table is identified by its name only.
void check_table_names(const Configuration& configuration, Problems& problems) {
  std::map<std::string, std::string> stores;
  for (const auto& store : configuration.stores) {
    for (const auto& table : store.tables) {
      const auto [other, is_new] = stores.emplace(table.options.table, store.name);
      if (is_new) continue;
      problems.push_back(
          {Code::config_invalid, path_of(store, table) + ": stores." + other->second +
                                     " has a table of this name too; give it another"});
    }
  }
}

void check_store_urls(const Configuration& configuration, Problems& problems) {
  const auto schemes = store_schemes();
  std::string list;
  for (const auto& begin : schemes) list += (list.empty() ? "" : ", ") + begin;
  for (const auto& store : configuration.stores) {
    const bool known = std::ranges::any_of(
        schemes, [&](const std::string& begin) { return store.url.starts_with(begin); });
    // A missing URL is an error that has been reported already.
    if (known || store.url.empty()) continue;
    problems.push_back(
        {Code::config_invalid, "stores." + store.name + ".url: this build has " + list});
  }
}

/// A message that is replayed after its key was deleted is handled twice.
Status check_inbox_window(const Configuration& configuration) {
  const auto& window = configuration.idempotency.inbox_window;
  const auto longest = configuration.longest_retention();
  if (!window || *window >= longest) return {};
  return Error{
      Code::config_invalid,
      "idempotency.inbox_window: " + exact_duration_text(*window) + ", but messages are kept " +
          exact_duration_text(longest) +
          " (`retention`) and may be replayed so long; give at least that, or leave it out"};
}

/// A message that is replayed after its saga was removed starts it again.
Status check_saga_retention(const Configuration& configuration) {
  const bool starts_sagas =
      std::ranges::any_of(configuration.routes, [](const RouteSettings& route) {
        return std::ranges::any_of(route.options.to, [](const TargetOptions& target) {
          return target.to.starts_with("saga:");
        });
      });
  const auto kept = configuration.sagas.options.retention;
  const auto longest = configuration.longest_retention();
  if (!starts_sagas || kept >= longest) return {};
  return Error{Code::config_invalid,
               "sagas.retention: " + exact_duration_text(kept) + ", but messages are kept " +
                   exact_duration_text(longest) +
                   " (`retention`), and one that is replayed after its saga was removed starts it "
                   "again; give at least that"};
}

/// An error of a store (a password that is being changed, a missing right or folder) may be
/// temporary: the configuration was checked before.
Code code_of_store(const Error& error) {
  return error.code == Code::config_invalid ? Code::tx_invalid_state : error.code;
}

/// The definitions of the files, in their order; an error names the file.
Result<std::vector<SagaDefinition>> read_definitions(const SagaSettings& settings) {
  std::vector<SagaDefinition> definitions;
  for (const auto& one : settings.definitions) {
    auto definition = read_saga_file(one.file);
    if (!definition.ok()) {
      return Error{definition.error().code, "sagas.definitions: " + definition.error().message};
    }
    definitions.push_back(*std::move(definition));
  }
  return definitions;
}

/// Checks that the records of a message are kept as long as it may be replayed.
Status check_memory(const Configuration& configuration) {
  if (auto window = check_inbox_window(configuration); !window.ok()) return window;
  return check_saga_retention(configuration);
}

std::vector<std::string> definition_names(const std::vector<SagaDefinition>& definitions) {
  std::vector<std::string> names;
  for (const auto& definition : definitions) names.push_back(definition.name);
  return names;
}

/// `definitions` has those of the files, in their order.
void add_call_secrets(const SagaSettings& settings, const std::vector<SagaDefinition>& definitions,
                      SagaOptions& options) {
  if (!settings.call_secret.empty()) {
    options.participant_settings.emplace_back("secrets", settings.call_secret);
  }
  for (std::size_t number = 0; number < definitions.size(); ++number) {
    const auto& secret = settings.definitions[number].call_secret;
    if (secret.empty()) continue;
    options.settings_of_definition[definitions[number].name] = {{"secrets", secret}};
  }
}

bool is_participant_url(std::string_view target) {
  return target.starts_with("http://") || target.starts_with("https://");
}

/// `path` is that of the limits. Each limit must be for an existing name.
Status check_names(const std::string& path, const SagaLimits::Named& limits,
                   const std::set<std::string>& known) {
  for (const auto& [name, of_it] : limits) {
    if (known.contains(name)) continue;
    std::string list;
    for (const auto& one : known) list += (list.empty() ? "" : ", ") + one;
    return Error{Code::config_invalid, path + ": nothing in sagas.definitions is called " +
                                           quoted(name) + "; there " +
                                           (list.empty() ? "is none" : "are " + list)};
  }
  return {};
}

/// A limit with a mistyped name would have no effect.
Status check_saga_limits(const SagaSettings& settings,
                         const std::vector<SagaDefinition>& definitions) {
  std::set<std::string> names;
  std::set<std::string> participants;
  for (const auto& definition : definitions) {
    names.insert(definition.name);
    for (const auto& step : definition.steps) {
      for (const auto& target : {step.action, step.compensation.value_or("")}) {
        if (is_participant_url(target)) participants.insert(saga::participant_of(target));
      }
    }
  }
  const auto& limits = settings.options.limits;
  auto checked = check_names("sagas.limits.definitions", limits.definitions, names);
  if (!checked.ok()) return checked;
  return check_names("sagas.limits.participants", limits.participants, participants);
}

bool has_http_step(const SagaDefinition& definition) {
  return std::ranges::any_of(definition.steps, [](const SagaStep& step) {
    return is_participant_url(step.action) || is_participant_url(step.compensation.value_or(""));
  });
}

/// The name of the sagas' store.
Result<std::string> saga_store(const Configuration& configuration) {
  const auto& wanted = configuration.sagas.store;
  std::string names;
  for (const auto& store : configuration.stores) {
    if (store.name == wanted) return store.name;
    names += (names.empty() ? "" : ", ") + store.name;
  }
  if (wanted.empty() && configuration.stores.size() == 1) return configuration.stores.front().name;
  return Error{Code::config_invalid,
               "sagas.store: " + (wanted.empty() ? std::string("missing") : wanted + " is none") +
                   "; write one of " + names};
}

}  // namespace

LevelledLog::LevelledLog(const LogOptions& options) : level_(options.level) {
  auto all = options;
  all.level = LogLevel::debug;
  lines_ = stderr_log(all);
}

Daemon::Daemon(const Configuration& configuration, const DaemonDependencies& dependencies)
    : dependencies_(dependencies),
      own_log_(dependencies.log == nullptr ? std::make_unique<LevelledLog>(configuration.log)
                                           : nullptr),
      outages_(std::make_unique<OutageLog>(
          dependencies.log == nullptr ? *own_log_ : *dependencies.log, *dependencies.clock)),
      log_(outages_.get()),
      metrics_(PrometheusMetrics::create(configuration.metrics.prefix, *log_)),
      credentials_(
          std::make_shared<CredentialBook>(configuration.transports.http.tenant_credentials)),
      configuration_(configuration) {}

Result<std::unique_ptr<Daemon>> Daemon::make(const Configuration& configuration,
                                             const DaemonDependencies& dependencies) {
  try {
    return std::unique_ptr<Daemon>(new Daemon(configuration, dependencies));
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Status Daemon::open() {
  const auto open = [this]() -> Status {
    try {
      return open_all();
    } catch (const Failure& failure) {
      return failure.error();
    }
  };
  auto opened = open();
  if (!opened.ok()) close_all();
  return opened;
}

Result<std::unique_ptr<Daemon>> Daemon::open(const Configuration& configuration,
                                             const DaemonDependencies& dependencies) {
  auto daemon = make(configuration, dependencies);
  if (!daemon.ok()) return daemon;
  if (auto opened = (*daemon)->open(); !opened.ok()) return opened.error();
  return daemon;
}

void Daemon::watch_stores() {
  std::vector<OutageLog::WatchedStore> watched;
  for (const auto& [name, store, upkeep] : stores_) {
    auto* const doctor = store->doctor();
    if (doctor == nullptr) continue;
    watched.push_back({name, [doctor]() -> Status {
                         const auto current = doctor->is_current();
                         return current.ok() ? Status() : Status(current.error());
                       }});
  }
  outages_->watch(std::move(watched));
}

void Daemon::close_all() {
  outages_->watch({});
  hub_.reset();
  sagas_.reset();
  {
    const std::scoped_lock lock(mutex_);
    tables_.clear();
  }
  sink_.reset();
  definitions_.clear();
  saga_store_ = hub_store_ = nullptr;
  stores_.clear();
  spans_.reset();
}

std::vector<Error> Daemon::check(const Configuration& configuration) {
  Problems problems;
  try {
    (void)PrometheusMetrics::create(configuration.metrics.prefix);
  } catch (const Failure& failure) {
    problems.push_back({failure.error().code, "metrics.prefix: " + failure.error().message});
  }
  check_table_names(configuration, problems);
  add(check_inbox_window(configuration), problems);
  add(check_saga_retention(configuration), problems);
  check_store_urls(configuration, problems);
  std::vector<std::string> not_looked_at;
  RouteDependencies dependencies{.show = [](const sagabox::Delivery&) { return done(); }};
  if (!configuration.sagas.definitions.empty()) {
    const auto store = saga_store(configuration);
    if (!store.ok()) problems.push_back(store.error());
    const auto read = read_definitions(configuration.sagas);
    if (read.ok()) {
      dependencies.saga_definitions = definition_names(*read);
      if (auto limits = check_saga_limits(configuration.sagas, *read); !limits.ok()) {
        problems.push_back(limits.error());
      }
    } else {
      problems.push_back(read.error());
      not_looked_at = {"saga", "saga-reply"};
    }
  }
  if (auto hub = check_hub(configuration, dependencies); !hub.ok()) {
    problems.push_back(hub.error());
    not_looked_at.emplace_back("hub");
  }
  // Routes to a part with errors would only repeat them.
  for (auto& problem : route_problems(configuration, dependencies, not_looked_at)) {
    problems.push_back(std::move(problem));
  }
  return problems;
}

Daemon::~Daemon() {
  (void)stop();
  outages_->watch({});
}

Status Daemon::open_tracing() {
  if (!configuration_.tracing.enabled()) return {};
  auto options = configuration_.tracing.otlp;
  options.metrics = metrics_.get();
  options.log = log_;
  options.clock = dependencies_.clock;
  options.random = dependencies_.random;
  auto exporter = OtlpExporter::open(std::move(options));
  if (!exporter.ok()) {
    return Error{exporter.error().code, "tracing: " + exporter.error().message};
  }
  spans_ = std::move(*exporter);
  return {};
}

RouteDependencies Daemon::route_dependencies() {
  return {.show = dependencies_.show,
          .saga_store = saga_store_,
          .saga_definitions = definition_names(definitions_),
          .hub_store = hub_store_,
          .spans = spans_.get(),
          .credentials = credentials_,
          .metrics = metrics_.get(),
          .log = log_,
          .clock = dependencies_.clock,
          .random = dependencies_.random};
}

Status Daemon::open_all() {
  if (auto opened = open_tracing(); !opened.ok()) return opened;
  if (auto opened = open_stores(); !opened.ok()) return opened;
  auto router = open_routes(configuration_, route_dependencies());
  if (!router.ok()) return router.error();
  sink_ = std::make_shared<SwitchingSink>(std::move(*router));
  if (auto opened = open_tables(); !opened.ok()) return opened;
  if (auto opened = open_sagas(); !opened.ok()) return opened;
  if (auto opened = open_hub(); !opened.ok()) return opened;
  watch_stores();
  return {};
}

Status Daemon::open_stores() {
  for (const auto& settings : configuration_.stores) {
    auto store = assembly::open_store(settings.url, settings.options, settings.backend);
    if (!store.ok()) {
      return Error{code_of_store(store.error()),
                   "stores." + settings.name + ": " + store.error().message};
    }
    stores_.push_back(OpenStore{settings.name, std::move(*store)});
  }
  if (configuration_.hub.enabled) {
    const auto name = hub_store(configuration_);
    if (!name.ok()) return name.error();
    hub_store_ = std::ranges::find(stores_, *name, &OpenStore::name)->store.get();
  }
  if (configuration_.sagas.definitions.empty()) return {};
  const auto name = saga_store(configuration_);
  if (!name.ok()) return name.error();
  auto definitions = read_definitions(configuration_.sagas);
  if (!definitions.ok()) return definitions.error();
  if (auto limits = check_saga_limits(configuration_.sagas, *definitions); !limits.ok()) {
    return limits;
  }
  definitions_ = *std::move(definitions);
  saga_store_ = std::ranges::find(stores_, *name, &OpenStore::name)->store.get();
  return {};
}

Status Daemon::open_tables() {
  for (const auto& settings : configuration_.stores) {
    auto& store = *std::ranges::find(stores_, settings.name, &OpenStore::name)->store;
    for (const auto& table : settings.tables) {
      auto name = TableName::parse(table.options.table);
      auto outbox = name.ok() ? open_table(store, table) : name.error();
      if (!outbox.ok()) {
        return Error{code_of_store(outbox.error()),
                     path_of(settings, table) + ": " + outbox.error().message};
      }
      tables_.push_back({.store_name = settings.name,
                         .store = &store,
                         .name = std::move(*name),
                         .delivery = table.delivery,
                         .rules = table.options.rules,
                         .outbox = std::move(*outbox)});
    }
  }
  return {};
}

Status Daemon::open_sagas() {
  if (saga_store_ == nullptr) return {};
  auto options = configuration_.sagas.options;
  options.metrics = metrics_.get();
  options.log = log_;
  options.clock = dependencies_.clock;
  options.random = dependencies_.random;
  options.breaker = configuration_.traffic.breaker;
  options.limits.transports = configuration_.traffic.transport_limits;
  options.limits.tenant = configuration_.traffic.tenant_limits;
  options.limits.tenants = configuration_.traffic.limits_of_tenant;
  options.spans = spans_.get();
  options.trace_sample_ratio = configuration_.tracing.sample_ratio;
  add_call_secrets(configuration_.sagas, definitions_, options);
  if (std::ranges::any_of(definitions_, has_http_step)) {
    auto http =
        open_named_transport("http", "sagas.definitions", configuration_, route_dependencies());
    if (!http.ok()) return http.error();
    options.transports.emplace("http", *std::move(http));
  }
  auto sagas = Sagas::create(*saga_store_, std::move(options));
  if (!sagas.ok()) return Error{sagas.error().code, "sagas: " + sagas.error().message};
  for (const auto& definition : definitions_) {
    if (auto defined = sagas->define(definition); !defined.ok()) {
      return Error{defined.error().code,
                   "sagas.definitions: " + definition.name + ": " + defined.error().message};
    }
  }
  sagas_.emplace(std::move(sagas).value());
  return {};
}

Status Daemon::open_hub() {
  if (hub_store_ == nullptr) return {};
  auto dependencies = route_dependencies();
  // Tenants choose the targets of the hub: they could read our credentials.
  dependencies.credentials = nullptr;
  auto hub = DaemonHub::open(*hub_store_, configuration_, dependencies);
  if (!hub.ok()) return hub.error();
  hub_ = std::move(hub).value();
  return {};
}

Result<std::shared_ptr<Outbox>> Daemon::open_table(Store& store, const TableSettings& table) {
  auto options = table.options;
  options.metrics = metrics_.get();
  options.log = log_;
  options.clock = dependencies_.clock;
  options.random = dependencies_.random;
  options.sequences = true;  // the REST API returns them
  if (spans_) {
    options.interceptors.push_back(
        trace_deliveries({.spans = spans_.get(),
                          .sample_ratio = configuration_.tracing.sample_ratio,
                          .dispatch_timeout = options.dispatch_timeout,
                          .clock = dependencies_.clock,
                          .random = dependencies_.random}));
  }
  const auto shared = [](Result<Outbox> opened) -> Result<std::shared_ptr<Outbox>> {
    if (!opened.ok()) return opened.error();
    return std::make_shared<Outbox>(std::move(opened).value());
  };
  switch (table.delivery) {
    case Delivery::elsewhere:
      return shared(Outbox::writer_only(store, std::move(options)));
    case Delivery::external:
      return shared(Outbox::for_external_reader(store, std::move(options)));
    case Delivery::here:
      break;
  }
  options.sink = sink_;
  return shared(Outbox::several_processes(store, std::move(options)));
}

Status Daemon::start() {
  const std::scoped_lock acting(acting_);
  for (const auto& table : tables()) {
    if (table.delivery == Delivery::elsewhere) continue;
    if (auto started = table.outbox->start(); !started.ok()) return started;
  }
  if (auto started = start_upkeep(); !started.ok()) return started;
  if (sagas_) {
    if (auto started = sagas_->start(); !started.ok()) return started;
  }
  if (hub_) {
    if (auto started = hub_->start(); !started.ok()) return started;
  }
  const std::scoped_lock lock(mutex_);
  running_ = true;
  return {};
}

Status Daemon::start_upkeep() {
  const auto configuration = this->configuration();
  for (auto& [name, store, upkeep] : stores_) {
    auto started =
        IdempotencyUpkeep::start(*store, {.inbox_window = configuration.inbox_window(),
                                          .interval = configuration.idempotency.purge_interval,
                                          .metrics = metrics_.get(),
                                          .log = log_,
                                          .clock = dependencies_.clock});
    if (!started.ok()) return Error{started.error().code, started.error().message};
    upkeep = std::move(*started);
  }
  return {};
}

Status Daemon::stop() {
  const std::scoped_lock acting(acting_);
  for (auto& store : stores_) store.upkeep.reset();
  std::vector<std::future<Status>> stops;
  if (sagas_) stops.push_back(std::async(std::launch::async, [&] { return sagas_->stop(); }));
  if (hub_) stops.push_back(std::async(std::launch::async, [&] { return hub_->stop(); }));
  for (const auto& table : tables()) {
    stops.push_back(
        std::async(std::launch::async, [outbox = table.outbox] { return outbox->stop(); }));
  }
  Status result;
  for (auto& stop : stops) {
    if (auto stopped = stop.get(); !stopped.ok()) result = stopped;
  }
  if (spans_) spans_->stop();
  const std::scoped_lock lock(mutex_);
  running_ = false;
  return result;
}

Status Daemon::reopen(std::size_t number, const TableSettings& settings) {
  const auto table = tables().at(number);
  // First, because it queries the database: if it fails, the table continues as before.
  auto opened = open_table(*table.store, settings);
  if (!opened.ok()) return opened.error();
  // A message still running at the timeout is delivered again, as at any stop.
  if (auto stopped = table.outbox->stop(); !stopped.ok()) {
    log_->log(LogLevel::warning, "table stopped for its new settings while something still ran",
              {{"table", table.name.str()}, {"error", std::string_view(stopped.error().message)}});
  }
  if (running() && table.delivery != Delivery::elsewhere) {
    if (auto started = (*opened)->start(); !started.ok()) return started;
  }
  const std::scoped_lock lock(mutex_);
  tables_[number].rules = settings.options.rules;
  tables_[number].outbox = std::move(*opened);
  return {};
}

Result<Daemon::Reloaded> Daemon::reload(const Configuration& next) {
  const std::scoped_lock acting(acting_);
  const auto current = configuration();
  const auto found = changes(current, next);
  const auto any = [&](Change how) {
    return std::ranges::any_of(found, [&](const Changed& one) { return one.change == how; });
  };
  if (const auto problems = check(next); !problems.empty()) return problems.front();
  const auto made = merged(current, next);
  // Settings that need a restart are unchanged, so a change of retentions alone may be wrong.
  if (auto kept = check_memory(made); !kept.ok()) {
    return Error{kept.error().code,
                 kept.error().message + "; a change of it takes a restart, so restart the daemon"};
  }
  const auto old = sink_->router();
  if (any(Change::routing)) {
    auto router = open_routes(made, route_dependencies());
    if (!router.ok()) return router.error();
    credentials_->change(made.transports.http.tenant_credentials);
    sink_->change(std::move(*router));
  }
  if (own_log_) own_log_->set_level(made.log.level);
  std::size_t number = 0;
  for (const auto& store : made.stores) {
    for (const auto& table : store.tables) {
      const auto at = number++;
      const auto path = path_of(store, table) + ".";
      const bool changed = std::ranges::any_of(found, [&](const Changed& one) {
        return one.change == Change::table && one.path.starts_with(path);
      });
      // A relay reads the maximum of attempts of its routes only once.
      const auto attempts = table.options.retry.attempts_max;
      if (!changed && sink_->attempts_max(attempts) <= old->attempts_max(attempts)) continue;
      if (auto opened = reopen(at, table); !opened.ok()) return opened.error();
    }
  }
  {
    // Only after everything is in effect, so that a failed change is found again the next time.
    const std::scoped_lock lock(mutex_);
    configuration_ = made;
  }
  if (running() && made.inbox_window() != current.inbox_window()) {
    if (auto started = start_upkeep(); !started.ok()) return started.error();
  }
  Reloaded reloaded;
  for (const auto& one : found) {
    (one.change == Change::restart ? reloaded.need_restart : reloaded.changed).push_back(one.path);
  }
  return reloaded;
}

bool Daemon::running() const {
  const std::scoped_lock lock(mutex_);
  return running_;
}

std::vector<Daemon::Table> Daemon::tables() const {
  const std::scoped_lock lock(mutex_);
  return tables_;
}

std::vector<DestinationState> Daemon::destinations() const {
  return sink_->router()->destinations();
}

std::vector<SagaFinding> Daemon::saga_findings(const Store& store) const {
  constexpr std::size_t rows_max = 1000;
  if (!sagas_ || &store != saga_store_) return {};
  return sagas_->findings(rows_max);
}

std::vector<HeldUp> Daemon::held_up(const std::string& topic, const std::string& tenant) const {
  return sink_->router()->held_up(topic, tenant);
}

Status Daemon::check_payload(const std::string& topic, const Payload& payload) const {
  return sink_->router()->check_payload(topic, payload);
}

Configuration Daemon::configuration() const {
  const std::scoped_lock lock(mutex_);
  return configuration_;
}

}  // namespace sagabox::assembly
