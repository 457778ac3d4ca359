#include "bench/baselines/postgres/hub.hpp"
#include "bench/duel.hpp"
#include "bench/hub/bench.hpp"
#include "bench/hub/load.hpp"
#include "bench/hub/rate.hpp"
#include "bench/postgres/world.hpp"
#include "support/http_nginx.hpp"

#include <sagabox/stores/postgres.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::bench::hub {
namespace {

using sagabox::testing::HttpNginx;

/// Of those that are stored, so many are made by the hub; the rest are copies.
constexpr std::int64_t originals = 1000;

/// The hub's tables in a schema of the server of this run, and what they should hold.
class HubTables {
 public:
  explicit HubTables(std::string schema = std::string(sagabox::postgres::schema_default))
      : schema_(std::move(schema)) {}

  [[nodiscard]] std::unique_ptr<Store> open() const {
    return sagabox::postgres::open(world().url(), {.schema = schema_}).value();
  }

  /// Empty but for so many subscriptions; their ids.
  std::vector<std::string> clear(int subscriptions, const std::string& url) {
    const auto store = open();
    store->hub().value().events.prepare().value();
    sql("TRUNCATE {0}.hub_event, {0}.hub_delivery, {0}.hub_job, {0}.hub_dead, {0}.hub_position, "
        "{0}.hub_subscription, {0}.hub_secret");
    events_ = 0;
    fan_out_ = subscriptions;
    return subscribe(*store, subscriptions, url);
  }
  void add(std::int64_t events) {
    publish(*open(), events);
    events_ += events;
    rest();
  }
  /// Adds so many events and completes their deliveries; deliveries a second.
  double rate(std::int64_t events) {
    add(events);
    const auto rate = deliveries_rate(*open(), events * fan_out_);
    require();
    return rate;
  }
  void store_completed(std::int64_t count);

  /// Counted from the tables; throws unless each event has all its deliveries, completed at the
  /// first attempt.
  void require() { require(events_, events_ * fan_out_); }
  void require(std::int64_t events, std::int64_t deliveries) {
    const auto seen = sql(
        "SELECT (SELECT count(*) FROM {0}.hub_event) || ' ' || "
        "(SELECT count(*) FILTER (WHERE state = 'completed' AND attempt = 1) || ' of ' || count(*) "
        "FROM {0}.hub_delivery) || ' ' || "
        "(SELECT count(*) FILTER (WHERE state = 'completed' AND seen) || ' of ' || count(*) "
        "FROM {0}.hub_job)");
    const auto wanted = fmt::format("{0} {1} of {1} {1} of {1}", events, deliveries);
    if (seen != wanted) {
      throw std::runtime_error(fmt::format(
          "events, completed deliveries and completed jobs are {}, not {}", seen, wanted));
    }
  }

 private:
  static postgres::World& world() { return postgres::world(); }
  std::string sql(const char* text) {
    return world().sql(fmt::format(fmt::runtime(text), schema_));
  }
  void rest() {
    sql("VACUUM (ANALYZE) {0}.hub_event, {0}.hub_delivery, {0}.hub_job");
    world().sql("CHECKPOINT");
  }

  std::string schema_;
  std::int64_t events_ = 0;
  std::int64_t fan_out_ = 1;
};

void HubTables::store_completed(std::int64_t count) {
  (void)rate(originals);
  const auto copies = count / originals - 1;
  const auto copy = [&](const char* text) {
    world().sql(fmt::format(fmt::runtime(text), schema_, copies));
  };
  copy(R"sql(
INSERT INTO {0}.hub_event (
  id, tenant, source, external_id, type, key, is_json, digest, aggregate_type, aggregate_id,
  priority, content_type, headers, occurred_at, traceparent, tracestate, request_id,
  correlation_id, published_at, payload)
SELECT left(md5(id || ' ' || n), 26), tenant, source, external_id, type, key, is_json, digest,
       aggregate_type, aggregate_id, priority, content_type, headers, occurred_at, traceparent,
       tracestate, request_id, correlation_id, published_at, payload
FROM {0}.hub_event, generate_series(1, {1}) AS n)sql");
  copy(R"sql(
INSERT INTO {0}.hub_delivery (
  id, event, subscription, generation, tenant, type, key, shard, state, attempt, failures,
  next_attempt_at, created_at, ended_at, correlation_id, code, error, status)
SELECT 'd' || md5(id || ' ' || n), left(md5(event || ' ' || n), 26), subscription, generation,
       tenant, type, key, shard, state, attempt, failures, next_attempt_at, created_at, ended_at,
       correlation_id, code, error, status
FROM {0}.hub_delivery, generate_series(1, {1}) AS n)sql");
  copy(R"sql(
INSERT INTO {0}.hub_job (
  delivery, attempt, shard, subscription, state, attempt_at, resets, worker, token, lease_until,
  ended_at, seen, code, error, status, answer, retry_after, took)
SELECT 'd' || md5(delivery || ' ' || n), attempt, shard, subscription, state, attempt_at, resets,
       worker, token, lease_until, ended_at, seen, code, error, status, answer, retry_after, took
FROM {0}.hub_job, generate_series(1, {1}) AS n)sql");
  sql("INSERT INTO {0}.hub_position SELECT shard, max(seq) FROM {0}.hub_event GROUP BY shard "
      "ON CONFLICT (shard) DO UPDATE SET position = excluded.position");
  events_ += originals * copies;
  rest();
  require();
}

std::vector<Contender> row_loops(HubTables& tables, const RateLoad& load) {
  std::vector<Contender> sweep;
  for (const int connections : {2, 1, 4}) {
    for (const int batch : {2000, 500}) {
      sweep.push_back({fmt::format("{} connections, batches of {}", connections, batch),
                       [&tables, load, batch, connections] {
                         const auto ids = tables.clear(load.fan_out, load.url);
                         tables.add(load.events);
                         const auto rate = by_hand::hub_loop({.url = postgres::world().url(),
                                                              .events = load.events,
                                                              .subscriptions = ids,
                                                              .batch = batch,
                                                              .connections = connections});
                         tables.require();
                         return rate;
                       }});
    }
  }
  return sweep;
}

void add_rate_of(const char* name, int fan_out, const Size& size, Report& report) {
  HubTables tables;
  add_rate({.name = name,
            .fan_out = fan_out,
            .ours =
                [&](const RateLoad& load) {
                  (void)tables.clear(load.fan_out, load.url);
                  return tables.rate(load.events);
                },
            .rows = [&](const RateLoad& load) { return row_loops(tables, load); }},
           size, report);
}

}  // namespace

void postgres_rate(const Size& size, Report& report) {
  add_rate_of("hub.postgres.rate", 1, size, report);
}

void postgres_fanout(const Size& size, Report& report) {
  add_rate_of("hub.postgres.fanout_10.rate", 10, size, report);
}

void postgres_stored(const Size& size, Report& report) {
  constexpr auto name = "hub.postgres.stored_1m";
  if (const auto problem = HttpNginx::problem(); !problem.empty()) {
    return report.skip(name, problem);
  }
  const HttpNginx receiver(HttpNginx::Speaks::plain);
  const auto url = url_of(receiver);
  const auto count = deliveries_count(size);
  HubTables empty;
  HubTables stored("bench_hub_stored");  // beside it, so that the two run in turn
  (void)stored.clear(1, url);
  const auto stored_count = std::max(originals, 5 * size.rows);
  report.note(fmt::format("  storing {} completed deliveries", stored_count));
  stored.store_completed(stored_count);
  const auto result = duel(
      size.repeats, [&] { return stored.rate(count); },
      [&] {
        (void)empty.clear(1, url);
        return empty.rate(count);
      });
  postgres::world().sql("DROP SCHEMA bench_hub_stored CASCADE");
  report.add({.name = name,
              .value = result.ours,
              .unit = "deliveries/s",
              .baseline = result.baseline,
              .baseline_name = "the same with an empty hub",
              .goal = Goal{Goal::Kind::ratio_at_least, 0.90}});
}

void latency(const Size& size, Report& report) {
  HubTables tables;
  (void)tables.clear(0, {});
  const auto store = tables.open();
  const auto taken = publish_microseconds(*store, std::max(50U, size.hand_overs / 10));
  const auto events = static_cast<std::int64_t>(taken.size()) + events_before_latency;
  tables.require(events, events);
  const auto seen = latency_of(taken);
  report.add({.name = "hub.latency.p50_ms",
              .value = seen.p50 / 1000,
              .unit = "ms",
              .baseline_name = "none: call of publish to receiver",
              .goal = Goal{Goal::Kind::below, 5}});
  report.add({.name = "hub.latency.p99_ms",
              .value = seen.p99 / 1000,
              .unit = "ms",
              .baseline_name = "none: call of publish to receiver"});
}

}  // namespace sagabox::bench::hub
