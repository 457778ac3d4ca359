#include "assembly/configuration.hpp"
#include "assembly/describe.hpp"
#include "assembly/setting.hpp"
#include "assembly/settings_of_hub.hpp"
#include "assembly/settings_of_limits.hpp"
#include "assembly/settings_of_sagas.hpp"
#include "assembly/settings_of_stores.hpp"
#include "assembly/settings_of_tracing.hpp"
#include "assembly/settings_of_transports.hpp"
#include "core/text.hpp"

namespace sagabox::assembly {
namespace {

using Shape = Setting::Shape;
using Kind = Setting::Kind;
using Secret = Setting::Secret;
using Change = Setting::Change;
using Parts = std::vector<Setting>;

constexpr auto long_time = "3650d";

Parts retry_parts() {
  using R = RetryPolicy;
  Parts parts;
  parts.push_back(read_only<R>(
      "preset",
      [](R& retry, const std::string& text) {
        auto preset = R::preset(text);
        if (preset.ok()) retry = *preset;
        return preset.ok() ? std::string() : "write one of patient, persistent, quick, saga";
      },
      "begins with another policy: patient (12 attempts, waits up to 5m), persistent (25, up to "
      "1m), "
      "quick (10, up to 1m; the default), saga (6, up to 1m)"));
  parts.push_back(
      value<R>("attempts_max", &R::attempts_max, "then it is dead").between("1", "10000"));
  parts.push_back(value<R>("backoff_min", &R::backoff_min, "wait after the first failed attempt")
                      .between("0", long_time));
  parts.push_back(value<R>("backoff_max", &R::backoff_max, "the wait grows up to this")
                      .between("0", long_time));
  parts.push_back(
      value<R>("factor", &R::factor, "what each wait is of the one before").between("1", "100"));
  parts.push_back(value<R>("jitter_min", &R::jitter_min,
                           "each wait is multiplied by something "
                           "between this and jitter_max")
                      .between("0", "10"));
  parts.push_back(value<R>("jitter_max", &R::jitter_max, "see jitter_min").between("0", "10"));
  parts.push_back(value<R>("jitter_added_max", &R::jitter_added_max, "up to so much is added")
                      .between("0", long_time));
  parts.push_back(value<R>("floor", &R::floor, "no wait is shorter").between("0", long_time));
  return parts;
}

Parts relay_parts() {
  using O = OutboxOptions;
  Parts parts;
  parts.push_back(
      value<O>("workers", &O::workers, "handlers at the same time").between("1", "1024"));
  parts.push_back(value<O>("spare_workers_max", &O::spare_workers_max,
                           "threads that may stand in for handlers past their deadline")
                      .between("0", "1024"));
  parts.push_back(value<O>("hot_capacity", &O::hot_capacity,
                           "messages of this process that go round the poll, queued at most")
                      .between("1", "10000000"));
  parts.push_back(value<O>("cold_capacity", &O::cold_capacity, "messages read, queued at most")
                      .between("1", "10000000"));
  parts.push_back(value<O>("read_ahead", &O::read_ahead,
                           "read beyond the cold queue while it empties fast; 0: none")
                      .between("0", "10000000"));
  parts.push_back(value<O>("queue_bytes_max", &O::queue_bytes_max, "of both queues", Kind::bytes)
                      .between("1KiB", "1024GiB"));
  parts.push_back(value<O>("unsettled_max", &O::unsettled_max, "dispatched but not yet settled")
                      .between("1", "10000000"));
  parts.push_back(
      value<O>("settle_rows_max", &O::settle_rows_max, "settled together").between("1", "1000000"));
  parts.push_back(value<O>("settle_delay_max", &O::settle_delay_max, "a verdict waits for others")
                      .between("0", "1m"));
  parts.push_back(value<O>("poll_interval", &O::poll_interval,
                           "how often the table is read where nothing wakes the reader")
                      .between("1ms", "1d"));
  parts.push_back(value<O>("control_interval", &O::control_interval,
                           "how often pauses and replay jobs are read")
                      .between("1ms", "1d"));
  parts.push_back(
      value<O>("skip_recent", &O::skip_recent, "the poll leaves younger messages to the fast path")
          .between("0", "1d"));
  parts.push_back(
      value<O>("lease", &O::lease,
               "shards of a process that died are taken over after this; the tables of a store "
               "share a lease, the shortest of theirs")
          .between("100ms", "1d"));
  parts.push_back(
      value<O>("dispatch_timeout", &O::dispatch_timeout, "of one attempt").between("1ms", "1d"));
  parts.push_back(
      value<O>("drain_timeout", &O::drain_timeout, "how long a stop waits for what runs")
          .between("0", "1h"));
  parts.push_back(
      value<O>("purge_interval", &O::purge_interval, "how often old messages are deleted")
          .between("1ms", "30d"));
  parts.push_back(
      value<O>("error_bytes_max", &O::error_bytes_max, "of an error text that is kept", Kind::bytes)
          .between("16", "64KiB"));
  parts.push_back(
      value<O>("blocked_keys_max", &O::blocked_keys_max,
               "keys of a shard whose failed head is known by name; beyond it a filter knows them")
          .between("1", "10000000"));
  return parts;
}

/// The settings of a table, and at the top level the defaults of all tables.
Parts table_parts() {
  using T = TableSettings;
  const auto options = [](auto& table) -> auto& { return table.options; };
  Setting preset =
      value<T>("preset", &T::preset,
               "begins with other defaults: patient (retries wait up to 5m), single_active (one "
               "relay for the table, which asks once a second; strict topics), polling (asks every "
               "5 s and reads nothing ahead; dead messages are kept for 7d)");
  preset.read = [](const Setting&, void* holder, const std::string& text) {
    auto& table = *static_cast<T*>(holder);
    auto found = OutboxOptions::preset(text);
    if (!found.ok()) return std::string("write one of patient, single_active, polling");
    found->table = table.options.table;
    table.options = std::move(*found);
    table.preset = text;
    return std::string();
  };
  Parts parts;
  parts.push_back(std::move(preset));
  parts.push_back(
      choice<T>("delivery", &T::delivery,
                std::array{std::pair(std::string_view("here"), Delivery::here),
                           std::pair(std::string_view("elsewhere"), Delivery::elsewhere),
                           std::pair(std::string_view("external"), Delivery::external)},
                "here: this daemon delivers, together with others; elsewhere: it only takes "
                "messages in; external: something else reads the table, and this daemon "
                "deletes what is older than `retention`")
          .changed_by(Change::restart));
  parts.push_back(
      choice<T>(
          "claim", [](auto& table) -> auto& { return table.options.claim; },
          std::array{std::pair(claim_mode_name(ClaimMode::sharded), ClaimMode::sharded),
                     std::pair(claim_mode_name(ClaimMode::leader), ClaimMode::leader),
                     std::pair(claim_mode_name(ClaimMode::competing), ClaimMode::competing)},
          "how daemons divide the work of a table; the same in all of them")
          .changed_by(Change::restart));
  parts.push_back(value<T>(
                      "retention", [](auto& table) -> auto& { return table.options.retention; },
                      "done messages are kept so long, to be replayed; 0 deletes them at once")
                      .between("0", long_time));
  parts.push_back(value<T>(
                      "dead_retention",
                      [](auto& table) -> auto& { return table.options.dead_retention; },
                      "dead ones; default: none, they are kept for ever")
                      .between("0", long_time));
  parts.push_back(choice<T>(
      "head_policy", [](auto& table) -> auto& { return table.options.head_policy; },
      std::array{std::pair(std::string_view("block"), HeadPolicy::block),
                 std::pair(std::string_view("skip"), HeadPolicy::skip),
                 std::pair(std::string_view("park"), HeadPolicy::park)},
      "what a failing message does to the later ones of its key: they wait, they go on, or it is "
      "quarantined and they go on"));
  parts.push_back(choice<T>(
      "unroutable", [](auto& table) -> auto& { return table.options.unroutable; },
      std::array{std::pair(std::string_view("wait"), Unroutable::wait),
                 std::pair(std::string_view("dead"), Unroutable::dead)},
      "what becomes of messages whose topic has no route here: they wait for a daemon that knows "
      "it, for `unroutable_grace`, or are dead at once"));
  parts.push_back(value<T>(
                      "unroutable_grace",
                      [](auto& table) -> auto& { return table.options.unroutable_grace; },
                      "how long such a message waits from when it was due or its topic first "
                      "missed; then it is dead")
                      .between("0", long_time));
  parts.push_back(value<T>(
      "strict_topics", [](auto& table) -> auto& { return table.options.rules.strict_topics; },
      "topics must read module.aggregate.event.vN"));
  parts.push_back(value<T>(
                      "payload_bytes_max",
                      [](auto& table) -> auto& { return table.options.rules.payload_bytes_max; },
                      "larger messages are not taken", Kind::bytes)
                      .between("1", "1MiB"));
  parts.push_back(section<T>(
                      "retry", [](auto& table) -> auto& { return table.options.retry; },
                      retry_parts(), "of messages whose route has no policy of its own")
                      .checked(own_check<RetryPolicy>()));
  parts.push_back(
      section<T>("relay", options, relay_parts(), "how messages are read and delivered"));
  for (auto& part : parts) {
    if (!part.change) part.change = Change::table;
  }
  return parts;
}

Parts store_parts() {
  using S = StoreSettings;
  Parts parts;
  parts.push_back(value<S>("url", &S::url,
                           "`sqlite:orders.db`, `postgres://user@host:5432/database`, `memory:`")
                      .hidden(Secret::password_of_url));
  parts.push_back(value<S>(
      "schema", [](auto& store) -> auto& { return store.options.schema; },
      "where our tables are, for databases that have schemas"));
  parts.push_back(value<S>(
                      "shards", [](auto& store) -> auto& { return store.options.shards; },
                      "of every table; those that are there must have been made with the same")
                      .between("1", "1024"));
  parts.push_back(value<S>(
                      "lease", [](auto& store) -> auto& { return store.defaults.options.lease; },
                      "what `relay.lease` of its tables is by default")
                      .between("100ms", "1d")
                      .changed_by(Change::table));
  for (auto& option : store_option_parts()) parts.push_back(std::move(option));
  parts.push_back(elements<S>(
                      Shape::map, "tables", &S::tables,
                      [](S& store, const std::string& name) -> auto& {
                        auto& table = store.tables.emplace_back(store.defaults);
                        table.options.table = name;
                        return table;
                      },
                      [](const TableSettings& table) { return table.options.table; }, table_parts(),
                      "a list of names is enough; default: one, `default`")
                      .short_for("name")
                      .checked([](const void* holder) {
                        const auto& table = *static_cast<const TableSettings*>(holder);
                        if (auto checked = table.options.check(); !checked.ok()) {
                          return checked.error().message;
                        }
                        return std::string();
                      }));
  return parts;
}

Parts route_parts() {
  using R = RouteSettings;
  Parts target;
  target.push_back(value<TargetOptions>("address", &TargetOptions::to,
                                        "`kafka:orders`, `https://hooks.example.com/invoices`")
                       .hidden(Secret::password_of_url));
  target.push_back(pairs<TargetOptions>("", &TargetOptions::settings,
                                        "what its transport knows besides, see docs/transports"));
  Parts parts;
  parts.push_back(value<R>(
      "topic", [](auto& route) -> auto& { return route.options.topic; },
      "`*` stands for one part, `**` at the end for all that is left; the first route that fits "
      "counts"));
  parts.push_back(list<R>(
                      "to", [](auto& route) -> auto& { return route.options.to; },
                      std::move(target),
                      "where it goes, one or several; an address alone is enough")
                      .short_for("address"));
  parts.push_back(section<R>(
                      "retry", [](auto& route) -> auto& { return route.options.retry; },
                      retry_parts(), "default: the table's")
                      .checked(own_check<RetryPolicy>()));
  parts.push_back(value<R>(
                      "timeout", [](auto& route) -> auto& { return route.options.timeout; },
                      "of one send to one target; default: the `timeout` at the top")
                      .between("1ms", "1d"));
  parts.push_back(section<R>(
                      "limits", [](auto& route) -> auto& { return route.options.limits; },
                      limits_parts(), "of all sends of this route together")
                      .checked(own_check<Limits>()));
  Setting schema =
      value<R>("schema_file", &R::schema_file,
               "JSON Schema (draft 4); payloads that do not fit are refused over REST and dead "
               "otherwise",
               Kind::path);
  schema.read = [](const Setting&, void* holder, const std::string& text) {
    auto& route = *static_cast<R*>(holder);
    auto problem = read_schema_file(text, route.options.schema);
    if (problem.empty()) route.schema_file = text;
    return problem;
  };
  parts.push_back(std::move(schema));
  parts.push_back(values<R>(
      "tenants", [](auto& route) -> auto& { return route.options.tenants; },
      "who may use it; default: everybody"));
  return parts;
}

Setting limits() {
  using C = Configuration;
  Parts parts;
  parts.push_back(named_limits<C>(
      "transports", [](auto& c) -> auto& { return c.traffic.transport_limits; },
      "of all sends over a transport, by its name: `kafka`"));
  parts.push_back(section<C>(
                      "tenant", [](auto& c) -> auto& { return c.traffic.tenant_limits; },
                      limits_parts(), "of each tenant alone")
                      .checked(own_check<Limits>()));
  parts.push_back(named_limits<C>(
      "tenants", [](auto& c) -> auto& { return c.traffic.limits_of_tenant; },
      "other ones for some, by name"));
  parts.push_back(value<C>(
      "fair_tenants", [](auto& c) -> auto& { return c.traffic.fair_tenants; },
      "tenants take turns at a destination"));
  parts.push_back(value<C>(
                      "waiting_max", [](auto& c) -> auto& { return c.traffic.waiting_max; },
                      "messages that wait in this process for their turn")
                      .between("1", "10000000"));
  return section<C>(
      "limits", [](auto& c) -> auto& { return c; }, std::move(parts),
      "how fast messages may go; what is over a limit waits in the database");
}

Setting breaker() {
  using B = BreakerOptions;
  Parts parts;
  parts.push_back(value<B>("timeouts_max", &B::timeouts_max,
                           "sends without an answer in a row, then the destination is down")
                      .between("1", "1000000"));
  parts.push_back(value<B>("probe_min", &B::probe_min, "first wait before it is tried again")
                      .between("1ms", "1d"));
  parts.push_back(value<B>("probe_max", &B::probe_max, "longest wait").between("1ms", "1d"));
  parts.push_back(value<B>("pause_max", &B::pause_max,
                           "what a destination may ask for with Retry-After at most")
                      .between("1ms", "1d"));
  return section<Configuration>(
             "breaker", [](auto& c) -> auto& { return c.traffic.breaker; }, std::move(parts),
             "when a destination counts as down, and how it is tried again")
      .checked(own_check<B>());
}

Setting listen() {
  Setting setting =
      value<Configuration>("listen", &Configuration::listen,
                           "host:port of the REST API; other hosts than loopback need "
                           "`api_keys_file`");
  setting.read = [](const Setting&, void* holder, const std::string& text) {
    const auto colon = text.rfind(':');
    std::uint16_t port = 0;
    if (colon == std::string::npos || colon == 0 ||
        !read_value(text.substr(colon + 1), port).empty()) {
      return std::string("write host:port, such as 127.0.0.1:8700");
    }
    static_cast<Configuration*>(holder)->listen = text;
    return std::string();
  };
  return setting;
}

Setting rest() {
  using R = RestSettings;
  Parts parts;
  parts.push_back(choice<R>("request_log", &R::request_log,
                            std::array{std::pair(std::string_view("debug"), LogLevel::debug),
                                       std::pair(std::string_view("info"), LogLevel::info)},
                            "level of the line that each request gets in the log"));
  parts.push_back(value<R>("connections_max", &R::connections_max, "more are hung up on")
                      .between("1", "1000000"));
  parts.push_back(value<R>("bodies_bytes_max", &R::bodies_bytes_max,
                           "of all requests together that are being read or wait; more are told "
                           "to come back",
                           Kind::bytes)
                      .between("4MiB", "1024GiB"));
  const auto limit = [&](const char* name, Duration R::* member, const char* doc) {
    parts.push_back(value<R>(name, member, doc).between("1ms", "1d"));
  };
  limit("header_timeout", &R::header_timeout, "from its first byte to its end, also for TLS");
  limit("body_timeout", &R::body_timeout, "until all of it is there");
  limit("idle_timeout", &R::idle_timeout, "of a connection between requests");
  limit("answer_timeout", &R::answer_timeout, "then the client is told that there is none");
  limit("stop_timeout", &R::stop_timeout, "for what has come to be answered at the end");
  parts.push_back(choice<R>("idempotency_key", &R::idempotency_key_required,
                            std::array{std::pair(std::string_view("optional"), false),
                                       std::pair(std::string_view("required"), true)},
                            "whether a request that writes must have the header Idempotency-Key"));
  parts.push_back(value<R>("idempotency_ttl", &R::idempotency_ttl, "how long such a key is known")
                      .between("10m", "90d"));
  parts.push_back(value<R>("idempotency_answer_bytes_max", &R::idempotency_answer_bytes_max,
                           "of a longer answer only status and headers are kept", Kind::bytes)
                      .between("1KiB", "1MiB"));
  return section<Configuration>("rest", &Configuration::rest, std::move(parts),
                                "what the REST API takes of its clients");
}

Setting idempotency() {
  using I = IdempotencySettings;
  Parts parts;
  parts.push_back(
      value<I>("inbox_window", &I::inbox_window,
               "keys of inboxes are kept so long, at least the longest `retention`: so "
               "long may a message be delivered again; default: a day more, 8d at least")
          .between("1m", "3650d"));
  parts.push_back(value<I>("purge_interval", &I::purge_interval,
                           "how often keys and records whose time is over are removed")
                      .between("1s", "1d"));
  return section<Configuration>("idempotency", &Configuration::idempotency, std::move(parts),
                                "of inboxes and records of requests in every store that has them");
}

Setting log() {
  using L = LogOptions;
  Parts parts;
  parts.push_back(choice<L>("level", &L::level,
                            std::array{std::pair(std::string_view("debug"), LogLevel::debug),
                                       std::pair(std::string_view("info"), LogLevel::info),
                                       std::pair(std::string_view("warning"), LogLevel::warning),
                                       std::pair(std::string_view("error"), LogLevel::error)},
                            "what is less is left out")
                      .changed_by(Change::at_once));
  parts.push_back(choice<L>("format", &L::json,
                            std::array{std::pair(std::string_view("text"), false),
                                       std::pair(std::string_view("json"), true)},
                            "one line, or one JSON object a line"));
  parts.push_back(
      value<L>("mask_tenants", &L::mask_tenants, "names of tenants are replaced by ***"));
  return section<Configuration>("log", &Configuration::log, std::move(parts),
                                "lines on standard error");
}

Parts all_settings() {
  using C = Configuration;
  Parts all;
  all.push_back(listen());
  all.push_back(
      value<C>("api_keys_file", &C::api_keys_file, "who may use the REST API", Kind::path));
  Parts tls;
  tls.push_back(value<TlsFiles>("certificate_file", &TlsFiles::certificate_file,
                                "PEM, with its chain", Kind::path));
  tls.push_back(
      value<TlsFiles>("key_file", &TlsFiles::key_file, "its private key, PEM", Kind::path));
  all.push_back(
      section<C>("tls", &C::tls, std::move(tls), "of the REST API").checked([](const void* holder) {
        const auto& files = *static_cast<const TlsFiles*>(holder);
        const bool both = files.certificate_file.empty() == files.key_file.empty();
        return both ? std::string() : "give both certificate_file and key_file";
      }));
  all.push_back(rest());
  all.push_back(idempotency());
  all.push_back(log());
  Parts metrics;
  metrics.push_back(
      value<MetricsSettings>("path", &MetricsSettings::path, "where they are served"));
  metrics.push_back(
      value<MetricsSettings>("prefix", &MetricsSettings::prefix, "comes before every name"));
  all.push_back(section<C>("metrics", &C::metrics, std::move(metrics), "for Prometheus"));
  all.push_back(tracing_settings());
  all.push_back(value<C>("demo", &C::demo, "a producer writes messages to look at"));
  all.push_back(
      value<C>("watch", &C::watch, "the file is read again when it changes, not only at SIGHUP")
          .changed_by(Change::at_once));
  for (auto& part : table_parts()) {
    // The accessors of a table's settings, which here first go to the defaults.
    auto of_table = section<C>("", &C::defaults, {}, "");
    const auto inner = [enter = of_table.enter](void* holder) { return enter(holder); };
    const auto look = [look = of_table.look](const void* holder) { return look(holder); };
    if (part.read) {
      part.read = [inner, read = part.read](const Setting& self, void* holder,
                                            const std::string& text) {
        return read(self, inner(holder), text);
      };
      part.show = [look, show = part.show](const void* holder) { return show(look(holder)); };
    }
    if (part.enter) {
      part.enter = [inner, enter = part.enter](void* holder) { return enter(inner(holder)); };
      part.look = [look, further = part.look](const void* holder) { return further(look(holder)); };
    }
    all.push_back(std::move(part));
  }
  all.push_back(elements<C>(
      Shape::map, "stores", &C::stores,
      [](C& c, const std::string& name) -> auto& {
        return c.stores.emplace_back(StoreSettings{.name = name, .defaults = c.defaults});
      },
      [](const StoreSettings& store) { return store.name; }, store_parts(),
      "databases by a name of yours; default: one, `default`, in the file sagabox.db"));
  all.push_back(list<C>("routes", &C::routes, route_parts(), "where messages go")
                    .changed_by(Change::routing));
  all.push_back(value<C>(
                    "timeout", [](auto& c) -> auto& { return c.traffic.timeout; },
                    "of one send where its route has none")
                    .between("1ms", "1d")
                    .changed_by(Change::routing));
  all.push_back(limits().changed_by(Change::routing));
  all.push_back(breaker().changed_by(Change::routing));
  all.push_back(saga_settings());
  all.push_back(hub_settings());
  all.push_back(section<C>("transports", &C::transports, transports_parts(),
                           "servers and credentials of what routes name")
                    .changed_by(Change::routing));
  return all;
}

}  // namespace

const std::vector<Setting>& settings() {
  static const auto all = all_settings();
  return all;
}

}  // namespace sagabox::assembly
