#include "bench/core.hpp"
#include "bench/measure.hpp"
#ifdef SAGABOX_BENCH_POSTGRES
#include "bench/postgres/bench.hpp"
#endif
#include "bench/report.hpp"
#ifdef SAGABOX_BENCH_POSTGRES
#include "bench/rest/bench.hpp"
#endif
#ifdef SAGABOX_BENCH_SQLITE
#include "bench/sqlite/bench.hpp"
#endif
#ifdef SAGABOX_BENCH_HTTP
#include "bench/hub/bench.hpp"
#endif
#if defined(SAGABOX_BENCH_POSTGRES) && defined(SAGABOX_BENCH_HTTP)
#include "bench/slo/bench.hpp"
#endif
#include "bench/transports/bench.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace {

namespace bench = sagabox::bench;

struct Benchmark {
  const char* name;
  void (*run)(const bench::Size&, bench::Report&);
};
constexpr std::array benchmarks{
    Benchmark{"core.dispatch", bench::core::dispatch},
    Benchmark{"core.hot", bench::core::hot},
    Benchmark{"core.write", bench::core::write},
#ifdef SAGABOX_BENCH_POSTGRES
    Benchmark{"postgres.tx_with_message", bench::postgres::tx_with_message},
    Benchmark{"postgres.tx_with_enqueue_function", bench::postgres::tx_with_enqueue_function},
    Benchmark{"postgres.write.batch", bench::postgres::write_batch},
    Benchmark{"postgres.drain.delete", bench::postgres::drain_delete},
    Benchmark{"postgres.drain.vs_skip_locked", bench::postgres::drain_vs_skip_locked},
    Benchmark{"postgres.drain.retain", bench::postgres::drain_retain},
    Benchmark{"postgres.drain.competing", bench::postgres::drain_competing},
    Benchmark{"postgres.drain.backlog_1m", bench::postgres::drain_backlog},
    Benchmark{"postgres.drain.two_relays", bench::postgres::drain_two_relays},
    Benchmark{"postgres.end_to_end", bench::postgres::end_to_end},
    Benchmark{"postgres.latency.idle", bench::postgres::latency_idle},
    Benchmark{"postgres.latency.busy", bench::postgres::latency_busy},
    Benchmark{"idempotency.postgres", bench::postgres::idempotency},
    Benchmark{"idempotency.postgres.stored_10m", bench::postgres::idempotency_stored},
    Benchmark{"idempotency.inbox.postgres", bench::postgres::inbox},
    Benchmark{"saga.postgres.rate", bench::postgres::saga_rate},
    Benchmark{"saga.postgres.single", bench::postgres::saga_single},
    Benchmark{"saga.active_100k", bench::postgres::saga_active},
    Benchmark{"postgres-churn", bench::postgres::churn},
    Benchmark{"rest.enqueue", bench::rest::enqueue},
    Benchmark{"rest.enqueue_batch", bench::rest::enqueue_batch},
#endif
#ifdef SAGABOX_BENCH_SQLITE
    Benchmark{"sqlite.tx_with_message", bench::sqlite::tx_with_message},
    Benchmark{"sqlite.write.batch", bench::sqlite::write_batch},
    Benchmark{"sqlite.drain.delete", bench::sqlite::drain_delete},
    Benchmark{"sqlite.drain.retain", bench::sqlite::drain_retain},
    Benchmark{"sqlite.drain.backlog_1m", bench::sqlite::drain_backlog},
    Benchmark{"idempotency.sqlite", bench::sqlite::idempotency},
    Benchmark{"saga.sqlite.rate", bench::sqlite::saga_rate},
    Benchmark{"saga.sqlite.single", bench::sqlite::saga_single},
    Benchmark{"sqlite.hot", bench::sqlite::hot},
    Benchmark{"sqlite.pending_1m", bench::sqlite::pending_memory},
#endif
#ifdef SAGABOX_BENCH_HTTP
    Benchmark{"transports.http.transport", bench::transports::http_transport},
#ifdef SAGABOX_BENCH_POSTGRES
    Benchmark{"transports.http.durable", bench::transports::http_durable},
    Benchmark{"hub.postgres.rate", bench::hub::postgres_rate},
    Benchmark{"hub.postgres.fanout_10.rate", bench::hub::postgres_fanout},
    Benchmark{"hub.postgres.stored_1m", bench::hub::postgres_stored},
    Benchmark{"hub.latency", bench::hub::latency},
    Benchmark{"slo", bench::slo::ordinary_load},
#endif
#ifdef SAGABOX_BENCH_SQLITE
    Benchmark{"hub.sqlite.rate", bench::hub::sqlite_rate},
#endif
#endif
#ifdef SAGABOX_BENCH_KAFKA
    Benchmark{"transports.kafka.publish", bench::transports::kafka_publish},
#endif
#ifdef SAGABOX_BENCH_NATS
    Benchmark{"transports.nats.publish", bench::transports::nats_publish},
#endif
#ifdef SAGABOX_BENCH_AMQP
    Benchmark{"transports.amqp.publish", bench::transports::amqp_publish},
#endif
#ifdef SAGABOX_BENCH_REDIS
    Benchmark{"transports.redis.publish", bench::transports::redis_publish},
#endif
#ifdef SAGABOX_BENCH_MQTT
    Benchmark{"transports.mqtt.publish", bench::transports::mqtt_publish},
#endif
};

/// "core" is all that begin with "core."; without a name all but the one that takes ten minutes.
bool is_asked_for(const std::string& name, const std::string& asked) {
  if (asked.empty()) return name != "postgres-churn";
  return name == asked || name.starts_with(asked + ".");
}

std::vector<std::string> names() {
  std::vector<std::string> all{
      "core",         "postgres",    "postgres.drain", "postgres.latency", "sqlite",
      "sqlite.drain", "transports",  "rest",           "idempotency",      "saga",
      "hub",          "hub.postgres"};
  for (const auto& benchmark : benchmarks) all.emplace_back(benchmark.name);
  return all;
}

constexpr int exit_failed = 1;
constexpr int exit_wrong_use = 2;

constexpr const char* explanation = R"(Benchmarks:
  core            the engine on the store in memory, with the classes and defaults of the demo:
  core.dispatch   pre-filled store, 100-byte payloads, half with keys, 4 workers
  core.hot        from the call of commit to the handler, idle engine: p50 and p99
  core.write      transactions with one message each, one thread

  postgres        outboxes on a PostgreSQL that is started for it, with the defaults users get:
  postgres.tx_with_message, postgres.tx_with_enqueue_function, postgres.write.batch
  postgres.drain.delete, .vs_skip_locked, .retain, .competing, .backlog_1m, .two_relays
  postgres.end_to_end, postgres.latency.idle, postgres.latency.busy
  postgres-churn  ten minutes of writing and delivering, a snapshot held open in between; then
                  three times a minute of it, in turn with the first of a new outbox

  slo             the service levels of ordinary load: two daemons on such a PostgreSQL, 1,000
                  messages/s for 60 s in a transaction each, 1 % of them refused once over HTTP

  idempotency     requests that are run once, on PostgreSQL and on a SQLite file:
  idempotency.postgres, .sqlite   a guard, beside the same two statements by hand
  idempotency.postgres.stored_10m with fifty times `--rows` keys, beside an empty table
  idempotency.inbox.postgres      a key in the caller's transaction

  saga            sagas of three steps that do nothing, each step committed before the next:
  saga.postgres.rate, saga.sqlite.rate      beside batches by hand with the same history
  saga.postgres.single, saga.sqlite.single  one alone, beside the five commits it needs
  saga.active_100k                memory with 100,000 that wait

  hub             the delivery hub with all its roles, signed webhooks to an nginx that answers 204:
  hub.postgres.rate, hub.sqlite.rate   each event for one subscription, beside the same rows in
                  batches by hand and then the same requests by libcurl alone
  hub.postgres.fanout_10.rate     the same with each event for ten
  hub.postgres.stored_1m          with five times `--rows` deliveries stored, beside an empty hub
  hub.latency     from the call of publish to the receiver, idle: p50 and p99

  rest            the REST API on such a PostgreSQL, 64 connections:
  rest.enqueue, rest.enqueue_batch

  sqlite          outboxes on a file in TMPDIR, with the defaults users get (WAL, every commit synced):
  sqlite.tx_with_message, sqlite.write.batch
  sqlite.drain.delete, .retain, .backlog_1m
  sqlite.hot      from the moment the disk has a commit to the handler
  sqlite.pending_1m   memory with a million pending

  transports      each alone, without an outbox, to a server that is started for it:
  transports.http.transport, also beside wrk
  transports.http.durable   the same from a PostgreSQL outbox
  transports.kafka.publish, transports.nats.publish, transports.amqp.publish,
  transports.redis.publish, transports.mqtt.publish

Every figure stands beside a hand-written baseline of the same run, where there is one. Of core
the best of the repeats is taken of both; of the others the round with the median ratio, ours and
the baseline in turn, the baseline being the best of its sweep. What was settled is counted from the store: a run that
lost or repeated something is an error.)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures sagabox against hand-written baselines.", "sagabox_bench");
  app.footer(explanation);
  std::string asked;
  bool as_json = false;
  bench::Size size;
  app.add_option("name", asked, "one of the below; all unless told")->check(CLI::IsMember(names()));
  app.add_flag("--json", as_json, "one JSON object a line");
  app.add_option("--messages", size.messages, "a dispatch run; fewer are quicker and less exact")
      ->check(CLI::Range(100U, 100'000'000U));
  app.add_option("--hand-overs", size.hand_overs, "single commits a latency run")
      ->check(CLI::Range(1U, 1'000'000U));
  app.add_option("--rows", size.rows, "of a table that is drained")
      ->check(CLI::Range(100, 10'000'000));
  app.add_flag("--sweep,!--no-sweep", size.sweep, "try every baseline, or only the usual winner");
  app.add_option("--seconds", size.seconds, "of postgres-churn (600) or slo (60)")
      ->check(CLI::Range(6U, 86'400U));
  app.add_option("--rate", size.rate, "messages a second of slo")->check(CLI::Range(1U, 100'000U));
  app.add_option("--repeats", size.repeats, "runs of each, the best counts")
      ->check(CLI::Range(1U, 100U));
  try {
    app.parse(argc, argv);
    using Form = bench::Report::Form;
    bench::Report report(as_json ? Form::json : Form::table, size.repeats);
    for (const auto& benchmark : benchmarks) {
      if (is_asked_for(benchmark.name, asked)) benchmark.run(size, report);
    }
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_wrong_use;
  } catch (const std::exception& error) {
    std::cerr << "sagabox_bench: " << error.what() << '\n';
    return exit_failed;
  }
}
