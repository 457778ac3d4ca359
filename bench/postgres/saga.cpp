#include "bench/baselines/postgres/saga.hpp"

#include "bench/baselines/postgres/link.hpp"
#include "bench/duel.hpp"
#include "bench/postgres/bench.hpp"
#include "bench/postgres/world.hpp"
#include "bench/saga_load.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace sagabox::bench::postgres {
namespace {

constexpr auto tables =
    "sagabox.saga, sagabox.saga_history, sagabox.saga_inbox, sagabox.saga_label, "
    "sagabox.saga_command";

/// Makes the tables where they are missing.
void clear_sagas() {
  (void)Sagas::create(*world().open()).value();
  world().sql(fmt::format("TRUNCATE {}", tables));
  world().sql(fmt::format("VACUUM (ANALYZE) {}", tables));
  world().sql("CHECKPOINT");
}

void require_all(std::int64_t sagas) {
  const auto seen = world().sql(
      "SELECT (SELECT count(*) FROM sagabox.saga WHERE state = 'completed') || ' ' || "
      "(SELECT count(*) FROM sagabox.saga_history) || ' ' || "
      "(SELECT count(*) FROM sagabox.saga_inbox)");
  const auto wanted = fmt::format("{} {} 0", sagas, sagas * saga_history_lines);
  if (seen != wanted) {
    throw std::runtime_error(
        fmt::format("completed sagas, history and inbox are {}, not {}", seen, wanted));
  }
}

double ours_rate(std::int64_t count) {
  clear_sagas();
  const auto store = world().open();
  const auto rate = sagas_rate(*store, count);
  require_all(count);
  return rate;
}

/// Of a saga that was just run.
by_hand::SagaText text_of_ours() {
  (void)ours_rate(100);
  by_hand::SagaText text{.body = world().sql("SELECT body FROM sagabox.saga LIMIT 1")};
  for (std::int64_t number = 1; number <= saga_history_lines; ++number) {
    const auto column = [&](const std::string& name) {
      return world().sql(fmt::format(
          "SELECT {} FROM sagabox.saga_history WHERE number = {} LIMIT 1", name, number));
    };
    text.history.push_back({column("event"), column("step"), column("detail")});
  }
  return text;
}

double by_hand_rate(const by_hand::SagaLoopLoad& load) {
  clear_sagas();
  world().sql(fmt::format(
      "INSERT INTO sagabox.saga_inbox (definition) SELECT 'bench' FROM generate_series(1, {})",
      load.sagas));
  const auto rate = by_hand::saga_loop(load);
  require_all(load.sagas);
  return rate;
}

std::vector<Contender> loops(std::int64_t count, const by_hand::SagaText& text) {
  std::vector<Contender> sweep;
  for (const int connections : {2, 1, 4}) {
    for (const int batch : {500, 2000}) {
      sweep.push_back({fmt::format("{} connections, batches of {}", connections, batch), [=] {
                         return by_hand_rate({.url = world().url(),
                                              .sagas = count,
                                              .text = text,
                                              .batch = batch,
                                              .connections = connections});
                       }});
    }
  }
  return sweep;
}

}  // namespace

void saga_rate(const Size& size, Report& report) {
  const auto count = sagas_count(size);
  const auto text = text_of_ours();
  const auto best = best_of("sagas by hand", loops(count, text), size, report);
  const auto result = duel(size.repeats, [&] { return ours_rate(count); }, best.run);
  report.add({.name = "saga.postgres.rate",
              .value = result.ours,
              .unit = "sagas/s",
              .baseline = result.baseline,
              .baseline_name = "hand-written batches, " + best.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.45}});
}

void saga_single(const Size& size, Report& report) {
  const auto count = std::max(50U, size.hand_overs / 10);
  const auto text = text_of_ours();
  clear_sagas();
  const auto store = world().open();
  const auto ours = latency_of(single_saga_microseconds(*store, count));
  clear_sagas();
  const auto bare = latency_of(by_hand::saga_commits(world().url(), text, count));
  require_all(count);
  add_single_saga("saga.postgres.single", ours, bare, report);
}

void saga_active(const Size& size, Report& report) {
  const auto count = size.rows / 2;  // 100,000 unless told
  (void)ours_rate(100);
  clear_sagas();
  const auto store = world().open();
  report.add({.name = "saga.active_100k.rss_mib",
              .value = active_sagas_mib(*store, count),
              .unit = "MiB",
              .baseline = static_cast<double>(count),
              .baseline_name = "sagas that wait for a signal",
              .goal = Goal{Goal::Kind::below, 300}});
  clear_sagas();
}

}  // namespace sagabox::bench::postgres
