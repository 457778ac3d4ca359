#include "cli/verbs/serve.hpp"

#include "assembly/daemon.hpp"
#include "cli/exit_codes.hpp"
#include "cli/signals.hpp"
#include "cli/systemd.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs/config.hpp"
#include "cli/verbs/show.hpp"
#include "server/server.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>

namespace sagabox::cli {
namespace {

/// The interval of checks of the file, and of the demo's messages.
constexpr Duration tick = std::chrono::seconds(1);
/// The first line reports the shards; it waits at most this long for them.
constexpr Duration shards_wait_max = std::chrono::seconds(2);
constexpr Duration shards_look = std::chrono::milliseconds(5);
/// How many one line of the log names.
constexpr std::size_t paths_max = 10;

struct ServeOptions {
  std::string config{};
  bool demo = false;
  bool fail_fast = false;
};

/// Files other than connections of clients: databases, brokers, the served files.
constexpr rlim_t files_for_others = 256;

/// A listener that could use up all files of the process would take them from its databases. The
/// limit of the system is raised before `wanted` is lowered.
std::uint32_t connections_that_fit(std::uint32_t wanted, Logger& log) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return wanted;
  const auto needed = rlim_t{wanted} + files_for_others;
  if (files.rlim_cur < needed && files.rlim_cur < files.rlim_max) {
    const rlimit raised{.rlim_cur = std::min(needed, files.rlim_max), .rlim_max = files.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) files.rlim_cur = raised.rlim_cur;
  }
  if (files.rlim_cur >= needed) return wanted;
  const auto fits =
      std::max<rlim_t>(files.rlim_cur > 2 * files_for_others ? files.rlim_cur - files_for_others
                                                             : files.rlim_cur / 2,
                       1);
  log.log(LogLevel::warning,
          "fewer connections are taken than rest.connections_max says: the "
          "process may not open more files (ulimit -n, LimitNOFILE)",
          {{"connections_max", std::uint64_t{fits}}, {"files_max", std::uint64_t{files.rlim_cur}}});
  return static_cast<std::uint32_t>(fits);
}

std::string joined(const std::vector<std::string>& paths) {
  std::string list;
  for (std::size_t at = 0; at < paths.size() && at < paths_max; ++at) {
    list += (list.empty() ? "" : ", ") + paths[at];
  }
  if (paths.size() > paths_max) list += fmt::format(" and {} more", paths.size() - paths_max);
  return list;
}

/// "[::1]" in the form for dialling.
std::string unbracketed(std::string address) {
  if (address.starts_with('[') && address.ends_with(']')) {
    return address.substr(1, address.size() - 2);
  }
  return address;
}

std::string counted(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Detects changes of a file by its metadata.
class FileWatch {
 public:
  explicit FileWatch(std::string path) : path_(std::move(path)), seen_(look()) {}

  /// Whether it changed since the last call.
  bool changed() {
    const auto now = look();
    return std::exchange(seen_, now) != now;
  }

 private:
  struct Seen {
    std::filesystem::file_time_type written{};
    std::uintmax_t bytes = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  [[nodiscard]] Seen look() const {
    std::error_code error;
    Seen seen{.written = std::filesystem::last_write_time(path_, error)};
    if (!error) seen.bytes = std::filesystem::file_size(path_, error);
    return error ? Seen{} : seen;
  }

  std::string path_;
  Seen seen_;
};

class Serving {
 public:
  explicit Serving(const ServeOptions& options)
      : options_(options), source_(configuration_source(options.config)), file_(source_.path) {}

  int run() {
    const auto configured = read();
    if (!configured.problems.empty()) return refuse_to_start(configured);
    auto made = assembly::Daemon::make(
        configured.configuration,
        {.show = [this](const Delivery& delivery) { return show_(delivery); }});
    if (!made.ok()) return fail(configured, made.error());
    daemon_ = std::move(*made);
    // The address may be in use: find out before a file is made, and before anything is delivered.
    if (auto listening = listen(); !listening.ok()) return fail(configured, listening.error());
    if (auto opened = open(configured); !opened.ok()) return fail(configured, opened.error());
    if (stopping_) return server_->stop() ? exit_fine : exit_failed;
    if (auto served = server_->serve(api_options()); !served.ok()) {
      return fail(configured, served.error());
    }
    if (auto started = daemon_->start(); !started.ok()) return fail(configured, started.error());
    introduce();
    tell_systemd("READY=1\nSTATUS=");
    while (wait()) {
    }
    tell_systemd("STOPPING=1");
    say("stopping: what is under way comes to its end");
    signals_.unblock();  // a second signal ends the process at once
    // No new requests while the open ones are finished.
    const bool all_answered = server_->stop();
    const int code = stop();
    if (!server_->has_ended()) leave_behind();
    if (code == exit_fine && all_answered) say("stopped: everything has ended");
    return all_answered ? code : exit_failed;
  }

 private:
  assembly::Configured read() {
    auto configured = checked_configuration(source_);
    configured.configuration.demo = configured.configuration.demo || options_.demo;
    return configured;
  }

  /// Returns 2 for errors that only the operator can fix; systemd does not restart it then.
  int fail(const assembly::Configured& configured, const Error& error) {
    say_wrong(configured, assembly::located(configured, error.message));
    return error.code == Code::config_invalid ? exit_wrong_use : exit_failed;
  }

  static int refuse_to_start(const assembly::Configured& configured) {
    if (!configured.configuration.log.json) return refuse(configured);
    for (const auto& problem : configured.problems) say_wrong(configured, problem);
    return exit_wrong_use;
  }

  /// Reports problems in the format of the log.
  static void say_wrong(const assembly::Configured& configured, const std::string& problem) {
    const auto& options = configured.configuration.log;
    if (!options.json) return fmt::print(stderr, "sagabox: {}\n", problem);
    stderr_log(options)->log(LogLevel::error, "sagabox cannot serve",
                             {{"problem", std::string_view(problem)}});
  }

  /// Reports to the user: a line on standard output, or in the log if its format is for programs.
  void say(const std::string& text) {
    if (!daemon_->configuration().log.json) return show_.say("sagabox " + text);
    daemon_->log().write(LogLevel::info, text, {});
  }

  Status listen() {
    const auto configuration = daemon_->configuration();
    server::ListenOptions options;
    options.listener = listener_options(configuration);
    if (!configuration.api_keys_file.empty()) options.key_file = configuration.api_keys_file;
    std::vector<wire::TableReadiness> tables;
    for (const auto& store : configuration.stores) {
      for (const auto& table : store.tables) {
        tables.push_back({.table = table.options.table,
                          .ready = false,
                          .text = "the daemon waits for its stores"});
      }
    }
    options.starting = [tables] { return tables; };
    auto listening = server::Server::listen(std::move(options));
    if (!listening.ok()) return listening.error();
    server_ = std::move(*listening);
    return {};
  }

  /// Runs `act` however long it takes, and notifies the watchdog of systemd meanwhile.
  template <class Act>
  static auto patiently(Act act) {
    auto acting = std::async(std::launch::async, act);
    while (acting.wait_for(tick) != std::future_status::ready) tell_systemd("WATCHDOG=1");
    return acting.get();
  }

  /// Waits for stores that cannot be reached, unless `fail_fast` is set.
  Status open(const assembly::Configured& configured) {
    for (bool waits = false;; waits = true) {
      auto opened = patiently([&] { return daemon_->open(); });
      auto& log = daemon_->log();
      if (opened.ok() && waits) log.log(LogLevel::info, "the stores answer; it goes on");
      if (opened.ok() || opened.error().code != Code::storage_unavailable || options_.fail_fast) {
        return opened;
      }
      if (!waits) {
        const auto error = assembly::located(configured, opened.error().message);
        log.log(LogLevel::warning, "a store cannot be reached; it is tried again every second",
                {{"code", code_name(opened.error().code)}, {"error", std::string_view(error)}});
        // Reports ready now: systemd would end the start as too slow.
        tell_systemd("READY=1\nSTATUS=waits for its stores");
      }
      tell_systemd("WATCHDOG=1");
      // Changes of the file are read once the stores are open.
      if (signals_.wait(tick) == StopSignals::Woken::stop) stopping_ = true;
      if (stopping_) return {};
    }
  }

  server::ListenerOptions listener_options(const assembly::Configuration& configuration) {
    const auto colon = configuration.listen.rfind(':');
    server::ListenerOptions options;
    options.address = unbracketed(configuration.listen.substr(0, colon));
    options.port = static_cast<std::uint16_t>(std::stoul(configuration.listen.substr(colon + 1)));
    options.log = &daemon_->log();
    options.metrics = &daemon_->metrics();
    const auto& rest = configuration.rest;
    options.request_log = rest.request_log;
    options.connections_max = connections_that_fit(rest.connections_max, daemon_->log());
    options.bodies_bytes_max = rest.bodies_bytes_max;
    options.header_timeout = rest.header_timeout;
    options.body_timeout = rest.body_timeout;
    options.idle_timeout = rest.idle_timeout;
    options.answer_timeout = rest.answer_timeout;
    options.stop_timeout = rest.stop_timeout;
    if (!configuration.tls.key_file.empty()) {
      options.tls = server::TlsFiles{.certificate = configuration.tls.certificate_file,
                                     .key = configuration.tls.key_file};
    }
    return options;
  }

  server::ApiOptions api_options() {
    const auto configuration = daemon_->configuration();
    const auto& rest = configuration.rest;
    server::ApiOptions options;
    options.log = &daemon_->log();
    options.exposition = &daemon_->metrics();
    options.metrics = &daemon_->metrics();
    options.metrics_path = configuration.metrics.path;
    // No caller waits longer than this for an answer, so no request is taken for lost earlier.
    options.idempotency = HttpIdempotencyOptions{
        .service = "rest",
        .required = rest.idempotency_key_required,
        .lease = std::max<Duration>(2 * rest.answer_timeout, std::chrono::minutes(2)),
        .ttl = std::max<Duration>(rest.idempotency_ttl, 2 * rest.answer_timeout),
        .answer_bytes_max = rest.idempotency_answer_bytes_max,
        .metrics = &daemon_->metrics()};
    options.inbox_window = [this] { return daemon_->configuration().inbox_window(); };
    options.saga_replies = {.store = daemon_->store_of_sagas(),
                            .secret = configuration.sagas.options.reply_secret,
                            .secret_before = configuration.sagas.options.reply_secret_before};
    if (auto* const hub = daemon_->hub()) {
      make_place_for_keys(hub->store());
      options.hub = server::ServedHub{
          .store = &hub->store(),
          .secret_key = hub->secret_key(),
          .probe = [hub](const EndpointProbe& probe) { return hub->probe(probe); },
          .check_target = [hub](std::string_view target) { return hub->check_target(target); },
          .check_event = [hub](const HubEvent& event) { return hub->check_event(event); },
          .endpoint = [hub](const SubscriptionId& id) { return hub->endpoint(id); },
          .changed = [hub] { hub->subscriptions_changed(); },
          .subscriptions_max = hub->subscriptions_max(),
          .routes = std::ranges::find(configuration.hub.roles, hub_role_name(HubRole::router)) !=
                    configuration.hub.roles.end()};
    }
    options.destinations = [this] { return daemon_->destinations(); };
    options.saga_findings = [this](const Store& store) { return daemon_->saga_findings(store); };
    options.held_up = [this](const std::string& topic, const std::string& tenant) {
      return daemon_->held_up(topic, tenant);
    };
    const auto tables = daemon_->tables();
    for (std::size_t number = 0; number < tables.size(); ++number) {
      const auto& table = tables[number];
      make_place_for_keys(*table.store);
      options.tables.push_back(
          {.table = table.name,
           .store = table.store,
           .outbox = [this, number] { return daemon_->tables()[number].outbox; },
           .rules = [this, number] { return daemon_->tables()[number].rules; },
           .check_payload =
               [this](const std::string& topic, const Payload& payload) {
                 return daemon_->check_payload(topic, payload);
               },
           .delivers = table.delivery == assembly::Delivery::here,
           .store_name = table.store_name});
    }
    return options;
  }

  /// If that fails, requests with a key are refused with the reason; others are served.
  void make_place_for_keys(Store& store) {
    auto* const keys = store.idempotency();
    if (keys == nullptr) return;
    if (const auto made = keys->prepare(); !made.ok()) {
      daemon_->log().log(LogLevel::warning, "no place for idempotency keys",
                         {{"store", std::string_view(store.name())},
                          {"error", std::string_view(made.error().message)}});
    }
  }

  void introduce() {
    const auto tables = daemon_->tables();
    std::string stores;
    const Store* last = nullptr;
    for (const auto& table : tables) {
      if (std::exchange(last, table.store) != table.store) {
        stores += (stores.empty() ? "" : ", ") + table.store->name();
      }
    }
    const auto url = server_->url();
    const auto shards = shards_owned();
    if (daemon_->configuration().log.json) {
      // Logged whatever the level, because programs wait for this line.
      const std::array<LogField, 5> fields{{{"version", std::string_view(SAGABOX_VERSION)},
                                            {"stores", std::string_view(stores)},
                                            {"url", std::string_view(url)},
                                            {"tables", std::uint64_t{tables.size()}},
                                            {"shards_owned", shards}}};
      return daemon_->log().write(LogLevel::info, "sagabox serves", fields);
    }
    show_.say(Line()
                  .add("sagabox " SAGABOX_VERSION, Style::strong)
                  .add(fmt::format(" · store {} · {} · {}, {} owned", stores, url,
                                   counted(tables.size(), "table"), counted(shards, "shard")))
                  .add(hub_text()));
    if (source_.path.empty()) {
      show_.say(fmt::format(
          "try:  curl -d '{{\"topic\":\"demo.hello.said.v1\",\"payload\":{{\"to\":\"you\"}}}}' "
          "{}/v1/messages",
          url));
    }
  }

  /// " · hub (router, worker) with 3 subscriptions"; empty without one.
  std::string hub_text() {
    const auto* const hub = daemon_->hub();
    if (hub == nullptr) return {};
    const auto& roles = daemon_->configuration().hub.roles;
    const auto some = roles.size() < hub_role_count ? " (" + joined(roles) + ")" : std::string();
    const auto subscriptions = hub->subscriptions();
    return " · hub" + some +
           (subscriptions ? " with " + counted(*subscriptions, "subscription") : std::string());
  }

  /// Waits briefly for the first shards of each table.
  std::uint64_t shards_owned() {
    const auto limit = clock_.boot_now() + shards_wait_max;
    for (;;) {
      std::uint64_t owned = 0;
      bool waits = false;
      for (const auto& table : daemon_->tables()) {
        const auto of_table = table.outbox->snapshot().shards_owned;
        owned += of_table;
        waits = waits || (of_table == 0 && table.delivery == assembly::Delivery::here);
      }
      if (!waits || stopping_ || clock_.boot_now() >= limit) return owned;
      act(signals_.wait(shards_look));
    }
  }

  /// Returns false if asked to stop.
  bool wait() {
    if (stopping_) return false;
    const auto woken = signals_.wait(tick);
    act(woken);
    if (woken != StopSignals::Woken::timeout) return !stopping_;
    tell_systemd("WATCHDOG=1");
    if (file_.changed() && daemon_->configuration().watch) reload();
    if (daemon_->configuration().demo) write_demo();
    return true;
  }

  void act(StopSignals::Woken woken) {
    if (woken == StopSignals::Woken::stop) stopping_ = true;
    if (woken != StopSignals::Woken::hangup) return;
    (void)file_.changed();
    reload();
    reload_certificate();
  }

  void reload_certificate() {
    const auto reloaded = server_->reload_certificate();
    if (reloaded.ok()) return;
    daemon_->log().log(LogLevel::error, "certificate was not taken; the one before stays",
                       {{"problem", std::string_view(reloaded.error().message)}});
  }

  void reload() {
    tell_systemd("RELOADING=1");
    const auto next = read();
    auto& log = daemon_->log();
    const auto refused = [&](const std::string& why) {
      log.log(LogLevel::error, "configuration was not taken; the one before stays",
              {{"problem", std::string_view(why)}});
    };
    for (const auto& problem : next.problems) refused(problem);
    if (next.problems.empty()) {
      const auto reloaded = patiently([&] { return daemon_->reload(next.configuration); });
      if (!reloaded.ok()) {
        refused(assembly::located(next, reloaded.error().message));
      } else {
        const auto changed = joined(reloaded->changed);
        log.log(LogLevel::info, "configuration was read again",
                {{"changed", std::string_view(changed.empty() ? "nothing" : changed)}});
        const auto later = joined(reloaded->need_restart);
        if (!later.empty()) {
          log.log(LogLevel::warning, "a changed setting needs a restart",
                  {{"settings", std::string_view(later)}});
        }
      }
    }
    tell_systemd("READY=1");
  }

  /// Writes one message a tick, and sometimes one that will be dead.
  void write_demo() {
    const auto table = daemon_->tables().front();
    const auto number = ++demo_messages_;
    NewMessage message{.topic = number % 10 == 0 ? "demo.hello.refused.v1" : "demo.hello.said.v1",
                       .key = fmt::format("visitor-{}", number % 3),
                       .payload = json(fmt::format(R"({{"number":{}}})", number))};
    const auto written = table.store->transaction(
        [&](auto& tx) { return table.outbox->write(tx, std::move(message)); });
    if (written.ok()) return;
    daemon_->log().log(LogLevel::warning, "the demo could not write",
                       {{"error", std::string_view(written.error().message)}});
  }

  int stop() {
    const auto stopped = daemon_->stop();
    if (stopped.ok()) return 0;
    fmt::print(stderr, "sagabox: {}\n", stopped.error().text());
    return exit_failed;
  }

  /// A store that does not answer blocks threads of ours indefinitely.
  [[noreturn]] void leave_behind() {
    daemon_->log().log(LogLevel::error, "ends though a store has not answered all requests");
    std::fflush(nullptr);
    std::_Exit(exit_failed);
  }

  StopSignals signals_{StopSignals::Hangup::wakes};  // first member: before any thread starts
  const ServeOptions options_;
  const assembly::Source source_;
  const Clock& clock_ = system_clock();
  FileWatch file_;
  Terminal terminal_{stdout};
  Show show_{terminal_, clock_};
  std::unique_ptr<assembly::Daemon> daemon_;
  std::unique_ptr<server::Server> server_;  // destroyed before the objects it serves
  bool stopping_ = false;
  std::uint64_t demo_messages_ = 0;
};

constexpr const char* serve_examples = R"(Examples:
  sagabox serve                          a SQLite file in this folder, nothing to set up
  sagabox serve --demo                   the same, with something to look at
  sagabox serve --config sagabox.yaml    what is there: sagabox config schema

SIGHUP reads the configuration again, and so does a change of the file. SIGTERM and Ctrl-C let what
is under way end. A store that cannot be reached at the start is waited for; /health/ready is 503
meanwhile. Exit code 0: it was stopped and everything has ended. 1: it failed, and may not the next
time. 2: wrong use or configuration.)";

}  // namespace

void add_serve(CLI::App& app, std::function<int()>& run) {
  auto options = std::make_shared<ServeOptions>();
  auto* verb = app.add_subcommand("serve", "The daemon: delivers what is in the tables");
  verb->footer(serve_examples);
  add_config_option(*verb, options->config);
  verb->add_flag("--demo", options->demo, "writes a message a second to look at");
  verb->add_flag("--fail-fast", options->fail_fast,
                 "ends when a store cannot be reached at the start, instead of waiting for it");
  verb->callback([options, &run] { run = [options] { return Serving(*options).run(); }; });
}

}  // namespace sagabox::cli
