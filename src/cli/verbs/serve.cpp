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

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>

namespace sagabox::cli {
namespace {

/// How often the file is looked at, and the demo writes.
constexpr Duration tick = std::chrono::seconds(1);
/// The first line tells of shards; it does not wait longer for them.
constexpr Duration shards_wait_max = std::chrono::seconds(2);
constexpr Duration shards_look = std::chrono::milliseconds(5);
/// Named in one line of the log.
constexpr std::size_t paths_max = 10;

struct ServeOptions {
  std::string config{};
  bool demo = false;
};

std::string joined(const std::vector<std::string>& paths) {
  std::string list;
  for (std::size_t at = 0; at < paths.size() && at < paths_max; ++at) {
    list += (list.empty() ? "" : ", ") + paths[at];
  }
  if (paths.size() > paths_max) list += fmt::format(" and {} more", paths.size() - paths_max);
  return list;
}

/// "[::1]" as it is dialled.
std::string unbracketed(std::string address) {
  if (address.starts_with('[') && address.ends_with(']')) {
    return address.substr(1, address.size() - 2);
  }
  return address;
}

std::string counted(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// When a file was last changed, as far as one can see from outside.
class FileWatch {
 public:
  explicit FileWatch(std::string path) : path_(std::move(path)), seen_(look()) {}

  /// Since the last time it was asked.
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
    auto configured = read();
    if (!configured.problems.empty()) return refuse(configured);
    auto opened = assembly::Daemon::open(
        configured.configuration,
        {.show = [this](const Delivery& delivery) { return show_(delivery); }});
    if (!opened.ok()) {
      const auto& error = opened.error();
      fmt::print(stderr, "sagabox: {}\n", assembly::located(configured, error.message));
      return error.code == Code::config_invalid ? exit_wrong_use : exit_failed;
    }
    daemon_ = std::move(*opened);
    // The address may be taken: found out before anything is delivered.
    if (auto served = serve(); !served.ok()) {
      fmt::print(stderr, "sagabox: {}\n", assembly::located(configured, served.error().message));
      return served.error().code == Code::config_invalid ? exit_wrong_use : exit_failed;
    }
    if (auto started = daemon_->start(); !started.ok()) {
      fmt::print(stderr, "sagabox: {}\n", configured.secrets.masked(started.error().text()));
      return exit_failed;
    }
    introduce();
    tell_systemd("READY=1");
    while (wait()) {
    }
    tell_systemd("STOPPING=1");
    signals_.let_through();  // a second one ends the process at once
    // Nothing new comes in while the rest is brought to its end.
    const bool all_answered = server_->stop();
    const int code = stop();
    if (!server_->has_ended()) leave_behind();
    return all_answered ? code : exit_failed;
  }

 private:
  assembly::Configured read() {
    auto configured = checked_configuration(source_);
    configured.configuration.demo = configured.configuration.demo || options_.demo;
    return configured;
  }

  Status serve() {
    const auto configuration = daemon_->configuration();
    const auto colon = configuration.listen.rfind(':');
    server::ServerOptions options;
    options.listener.address = unbracketed(configuration.listen.substr(0, colon));
    options.listener.port =
        static_cast<std::uint16_t>(std::stoul(configuration.listen.substr(colon + 1)));
    options.listener.log = options.api.log = &daemon_->log();
    options.listener.metrics = &daemon_->metrics();
    const auto& rest = configuration.rest;
    options.listener.request_log = rest.request_log;
    options.listener.connections_max = rest.connections_max;
    options.listener.bodies_bytes_max = rest.bodies_bytes_max;
    options.listener.header_timeout = rest.header_timeout;
    options.listener.body_timeout = rest.body_timeout;
    options.listener.idle_timeout = rest.idle_timeout;
    options.listener.answer_timeout = rest.answer_timeout;
    options.listener.stop_timeout = rest.stop_timeout;
    if (!configuration.tls.key_file.empty()) {
      options.listener.tls = server::TlsFiles{.certificate = configuration.tls.certificate_file,
                                              .key = configuration.tls.key_file};
    }
    if (!configuration.api_keys_file.empty()) options.key_file = configuration.api_keys_file;
    options.api.exposition = &daemon_->metrics();
    options.api.metrics = &daemon_->metrics();
    options.api.metrics_path = configuration.metrics.path;
    // Nobody waits longer for an answer, and no request should be taken for lost before.
    options.api.idempotency = HttpIdempotencyOptions{
        .service = "rest",
        .required = rest.idempotency_key_required,
        .lease = std::max<Duration>(2 * rest.answer_timeout, std::chrono::minutes(2)),
        .ttl = std::max<Duration>(rest.idempotency_ttl, 2 * rest.answer_timeout),
        .answer_bytes_max = rest.idempotency_answer_bytes_max,
        .metrics = &daemon_->metrics()};
    options.api.inbox_window = [this] { return daemon_->configuration().inbox_window(); };
    options.api.saga_replies = {.store = daemon_->store_of_sagas(),
                                .secret = configuration.sagas.options.reply_secret};
    if (auto* const hub = daemon_->hub()) {
      make_place_for_keys(hub->store());
      options.api.hub = server::ServedHub{
          .store = &hub->store(),
          .secret_key = hub->secret_key(),
          .probe = [hub](const EndpointProbe& probe) { return hub->probe(probe); },
          .check_target = [hub](std::string_view target) { return hub->check_target(target); },
          .check_event = [hub](const HubEvent& event) { return hub->check_event(event); },
          .endpoint = [hub](const SubscriptionId& id) { return hub->endpoint(id); },
          .changed = [hub] { hub->subscriptions_changed(); }};
    }
    options.api.destinations = [this] { return daemon_->destinations(); };
    options.api.held_up = [this](const std::string& topic, const std::string& tenant) {
      return daemon_->held_up(topic, tenant);
    };
    const auto tables = daemon_->tables();
    for (std::size_t number = 0; number < tables.size(); ++number) {
      const auto& table = tables[number];
      make_place_for_keys(*table.store);
      options.api.tables.push_back(
          {.table = table.name,
           .store = table.store,
           .outbox = [this, number] { return daemon_->tables()[number].outbox; },
           .rules = [this, number] { return daemon_->tables()[number].rules; },
           .delivers = table.delivery == assembly::Delivery::here,
           .store_name = table.store_name});
    }
    auto started = server::Server::start(std::move(options));
    if (!started.ok()) return started.error();
    server_ = std::move(*started);
    return {};
  }

  /// Where that fails, requests with a key are refused with what is missing; the others go on.
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
    show_.say(
        Line()
            .add("sagabox " SAGABOX_VERSION, Style::strong)
            .add(fmt::format(" · store {} · {} · {}, {} owned", stores, url,
                             counted(tables.size(), "table"), counted(shards_owned(), "shard")))
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

  /// Waits for the first ones a little.
  std::uint64_t shards_owned() {
    const auto limit = clock_.boot_now() + shards_wait_max;
    for (;;) {
      std::uint64_t owned = 0;
      bool wanted = false;
      for (const auto& table : daemon_->tables()) {
        owned += table.outbox->snapshot().shards_owned;
        wanted = wanted || table.delivery == assembly::Delivery::here;
      }
      if (owned > 0 || !wanted || stopping_ || clock_.boot_now() >= limit) return owned;
      act(signals_.wait(shards_look));
    }
  }

  /// False: asked to stop.
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

  /// For as long as it takes: nobody is to think that we hang.
  template <class Act>
  static auto patiently(Act act) {
    auto acting = std::async(std::launch::async, act);
    while (acting.wait_for(tick) != std::future_status::ready) tell_systemd("WATCHDOG=1");
    return acting.get();
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

  /// One message a tick, and now and then one to be found among the dead.
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

  /// A store that does not answer has threads of ours, and no end in sight.
  [[noreturn]] void leave_behind() {
    daemon_->log().log(LogLevel::error, "ends though a store has not answered all requests");
    std::fflush(nullptr);
    std::_Exit(exit_failed);
  }

  StopSignals signals_{StopSignals::Hangup::wakes};  // first: before any thread
  const ServeOptions options_;
  const assembly::Source source_;
  const Clock& clock_ = system_clock();
  FileWatch file_;
  Terminal terminal_{stdout};
  Show show_{terminal_, clock_};
  std::unique_ptr<assembly::Daemon> daemon_;
  std::unique_ptr<server::Server> server_;  // gone before what it serves
  bool stopping_ = false;
  std::uint64_t demo_messages_ = 0;
};

constexpr const char* serve_examples = R"(Examples:
  sagabox serve                          a SQLite file in this folder, nothing to set up
  sagabox serve --demo                   the same, with something to look at
  sagabox serve --config sagabox.yaml    what is there: sagabox config schema

SIGHUP reads the configuration again, and so does a change of the file. SIGTERM and Ctrl-C let what
is under way end. Exit code 0: it was stopped and everything has ended. 1: it failed. 2: wrong use
or configuration.)";

}  // namespace

void add_serve(CLI::App& app, std::function<int()>& run) {
  auto options = std::make_shared<ServeOptions>();
  auto* verb = app.add_subcommand("serve", "The daemon: delivers what is in the tables");
  verb->footer(serve_examples);
  add_config_option(*verb, options->config);
  verb->add_flag("--demo", options->demo, "writes a message a second to look at");
  verb->callback([options, &run] { run = [options] { return Serving(*options).run(); }; });
}

}  // namespace sagabox::cli
