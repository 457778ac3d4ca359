#include "bench/baselines/sqlite/drain.hpp"

#include "bench/duel.hpp"
#include "bench/sqlite/bench.hpp"
#include "bench/sqlite/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace sagabox::bench::sqlite {
namespace {

using by_hand::sqlite::DrainLoad;
using by_hand::sqlite::Settle;

/// A full table, then `run`.
double measured(const std::string& who, const Size& size, bool retain, Report& report,
                const std::function<double()>& run) {
  world().fill(size.rows);
  const auto before = cpu_seconds();
  const auto rate = run();
  const auto used = (cpu_seconds() - before) / static_cast<double>(size.rows) * 1e6;
  world().require(0, retain ? size.rows : 0);
  report.note(fmt::format("  {:<60}{:>9.0f}/s, {:.1f} µs a message", who, rate, used));
  return rate;
}

double ours(const Size& size, bool retain, Report& report) {
  return measured("ours", size, retain, report, [&] {
    const auto store = world().open();
    return drain(Outbox::single_process(*store, retain ? OutboxOptions{} : deleting()).value(), 1,
                 size.rows);
  });
}

/// The first is the one that wins on two cores.
std::vector<Contender> owner_loops(const Size& size, bool retain, Report& report) {
  std::vector<Contender> sweep;
  for (const auto settle : {Settle::range, Settle::one_by_one}) {
    for (const int pages : {4096, 1000}) {
      for (const int batch : {4000, 1000, 250}) {
        const auto name = fmt::format("batches of {}, {}, a checkpoint at {} pages", batch,
                                      settle == Settle::range ? "by range" : "one by one", pages);
        sweep.push_back({name, [=, &size, &report] {
                           return measured(name, size, retain, report, [&] {
                             return by_hand::sqlite::owner_loop({.path = world().path(),
                                                                 .rows = size.rows,
                                                                 .batch = batch,
                                                                 .checkpoint_pages = pages,
                                                                 .retain = retain,
                                                                 .settle = settle});
                           });
                         }});
      }
    }
  }
  return sweep;
}

void against_owner_loop(const std::string& name, const Size& size, bool retain, Report& report) {
  const auto by_hand =
      best_of("hand-written owner loop", owner_loops(size, retain, report), size, report);
  const auto result = duel(size.repeats, [&] { return ours(size, retain, report); }, by_hand.run);
  report.add({.name = name,
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name = "owner loop, " + by_hand.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

/// From the first handler to the last settle.
double backlog_rate(std::int64_t rows) {
  world().fill(rows);
  std::atomic<Steady::rep> first{0};
  Steady::time_point end;
  {
    const auto store = world().open();
    auto outbox = Outbox::single_process(*store, deleting()).value();
    outbox
        .listen(Topic(topic),
                [&first](const Delivery&) {
                  Steady::rep none = 0;
                  if (first.load(std::memory_order_relaxed) == 0) {
                    first.compare_exchange_strong(none, Steady::now().time_since_epoch().count());
                  }
                  return done();
                })
        .value();
    outbox.start().value();
    await_delivered(outbox, static_cast<std::uint64_t>(rows));
    end = Steady::now();
    outbox.stop().value();
  }
  world().require(0, 0);
  const Steady::time_point begin{Steady::duration{first.load()}};
  return static_cast<double>(rows) / std::chrono::duration<double>(end - begin).count();
}

}  // namespace

void drain_delete(const Size& size, Report& report) {
  against_owner_loop("sqlite.drain.delete", size, false, report);
}

void drain_retain(const Size& size, Report& report) {
  against_owner_loop("sqlite.drain.retain", size, true, report);
}

void drain_backlog(const Size& size, Report& report) {
  constexpr std::int64_t small = 10'000;
  constexpr std::uint32_t small_rounds = 9;
  const auto large = 5 * size.rows;
  const auto result = duel(
      size.repeats, [&] { return backlog_rate(large); },
      [&] {
        std::vector<double> rates;
        for (std::uint32_t i = 0; i < small_rounds; ++i) rates.push_back(backlog_rate(small));
        return median(rates);
      });
  report.add({.name = "sqlite.drain.backlog_1m",
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name = fmt::format("ours, backlog {} instead of {}", small, large),
              .goal = Goal{Goal::Kind::ratio_at_least, 0.95}});
}

}  // namespace sagabox::bench::sqlite
