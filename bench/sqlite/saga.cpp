#include "bench/baselines/sqlite/saga.hpp"

#include "bench/baselines/sqlite/link.hpp"
#include "bench/duel.hpp"
#include "bench/saga_load.hpp"
#include "bench/sqlite/bench.hpp"
#include "bench/sqlite/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace sagabox::bench::sqlite {
namespace {

void require_all_sagas(std::int64_t sagas) {
  by_hand::sqlite::Link link(world().path());
  const auto seen = link.sql(
      "SELECT (SELECT count(*) FROM sagabox_saga WHERE state = 'completed') || ' ' || "
      "(SELECT count(*) FROM sagabox_saga_history) || ' ' || "
      "(SELECT count(*) FROM sagabox_saga_inbox)");
  const auto wanted = fmt::format("{} {} 0", sagas, sagas * saga_history_lines);
  if (seen != wanted) {
    throw std::runtime_error(
        fmt::format("completed sagas, history and inbox are {}, not {}", seen, wanted));
  }
}

/// An empty file with the tables of sagas.
void make_tables() {
  world().clear();
  (void)Sagas::create(*world().open()).value();
}

double sagas_of_ours_rate(std::int64_t count) {
  make_tables();
  double rate = 0;
  {
    const auto store = world().open();
    rate = sagas_rate(*store, count);
  }
  require_all_sagas(count);
  return rate;
}

/// Of a saga that was just run.
by_hand::SagaText text_of_saga() {
  (void)sagas_of_ours_rate(100);
  by_hand::sqlite::Link link(world().path());
  by_hand::SagaText text{.body = link.sql("SELECT body FROM sagabox_saga LIMIT 1")};
  for (std::int64_t number = 1; number <= saga_history_lines; ++number) {
    const auto column = [&](const std::string& name) {
      return link.sql(fmt::format("SELECT {} FROM sagabox_saga_history WHERE number = {} LIMIT 1",
                                  name, number));
    };
    text.history.push_back({column("event"), column("step"), column("detail")});
  }
  return text;
}

double sagas_by_hand_rate(const by_hand::SagaText& text, std::int64_t count, int batch) {
  make_tables();
  by_hand::sqlite::start_sagas(world().path(), count);
  const auto rate = by_hand::sqlite::saga_loop(world().path(), text, count, batch);
  require_all_sagas(count);
  return rate;
}

}  // namespace

void saga_rate(const Size& size, Report& report) {
  const auto count = sagas_count(size);
  const auto text = text_of_saga();
  std::vector<Contender> sweep;
  for (const int batch : {2000, 500, 100}) {
    sweep.push_back({fmt::format("batches of {}", batch),
                     [=] { return sagas_by_hand_rate(text, count, batch); }});
  }
  const auto best = best_of("sagas by hand", std::move(sweep), size, report);
  const auto result = duel(size.repeats, [&] { return sagas_of_ours_rate(count); }, best.run);
  report.add({.name = "saga.sqlite.rate",
              .value = result.ours,
              .unit = "sagas/s",
              .baseline = result.baseline,
              .baseline_name = "hand-written, " + best.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.45}});
}

void saga_single(const Size& size, Report& report) {
  const auto count = std::max(50U, size.hand_overs / 10);
  const auto text = text_of_saga();
  make_tables();
  Latency ours;
  {
    const auto store = world().open();
    ours = latency_of(single_saga_microseconds(*store, count));
  }
  make_tables();
  const auto bare = latency_of(by_hand::sqlite::saga_commits(world().path(), text, count));
  require_all_sagas(count);
  add_single_saga("saga.sqlite.single", ours, bare, report);
}

}  // namespace sagabox::bench::sqlite
