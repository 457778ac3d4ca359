#include "bench/duel.hpp"
#include "bench/postgres/bench.hpp"
#include "bench/postgres/relay.hpp"
#include "bench/postgres/world.hpp"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <vector>

namespace sagabox::bench::postgres {
namespace {

/// Rows a second of so many outboxes, each with a store of its own, once they share the shards:
/// all rows are committed at once, and time runs from the first handler to the last settle. Some
/// rows go before, so that connections and plans are there.
/// Processor time counts from the commit; asking for it takes some of it, so not where there is
/// little.
double shared_drain(int relays, std::int64_t rows, Report& report) {
  constexpr std::uint32_t shards = 16;
  constexpr std::int64_t warm_up_rows = 20'000;
  world().clear();
  std::atomic<Steady::rep> first{0};
  const auto handler = [&first](const Delivery&) {
    Steady::rep none = 0;
    if (first.load(std::memory_order_relaxed) == 0) {
      first.compare_exchange_strong(none, Steady::now().time_since_epoch().count());
    }
    return done();
  };
  std::vector<std::unique_ptr<Store>> stores;
  std::vector<Outbox> outboxes;
  for (int number = 0; number < relays; ++number) {
    stores.push_back(world().open());
    outboxes.push_back(Outbox::several_processes(*stores.back(), deleting()).value());
    outboxes.back().listen(Topic(topic), handler).value();
    outboxes.back().start().value();
  }
  for (const auto& outbox : outboxes) {
    await_shards(outbox, shards / static_cast<std::uint32_t>(relays));
  }
  world().add(warm_up_rows);
  await_all_delivered(outboxes, warm_up_rows);
  first = 0;
  world().add(rows);
  const bool asks = rows >= 100'000;
  const auto before = asks ? world().cpu() : CpuTime{};
  await_all_delivered(outboxes, static_cast<std::uint64_t>(warm_up_rows + rows));
  const auto end = Steady::now();
  const auto cpu = asks ? world().cpu() - before : CpuTime{};
  for (auto& outbox : outboxes) outbox.stop().value();
  world().require(0, 0);
  const Steady::time_point begin{Steady::duration{first.load()}};
  const auto rate = static_cast<double>(rows) / std::chrono::duration<double>(end - begin).count();
  report.note(fmt::format("  {:<48}{:>9.0f}/s{}", fmt::format("{} of ours, {}", relays, rows), rate,
                          asks ? ", " + cpu_text(cpu, static_cast<double>(rows)) : ""));
  return rate;
}

}  // namespace

void drain_backlog(const Size& size, Report& report) {
  constexpr std::int64_t small = 10'000;
  constexpr std::uint32_t small_rounds = 5;
  const auto large = 5 * size.rows;
  const auto result = duel(
      size.repeats, [&] { return shared_drain(1, large, report); },
      [&] {
        std::vector<double> rates;
        for (std::uint32_t i = 0; i < small_rounds; ++i) {
          rates.push_back(shared_drain(1, small, report));
        }
        return median(rates);
      });
  report.add({.name = "postgres.drain.backlog_1m",
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name = fmt::format("ours, backlog {} instead of {}", small, large),
              .goal = Goal{Goal::Kind::ratio_at_least, 0.95}});
}

void drain_two_relays(const Size& size, Report& report) {
  const auto result = duel(
      size.repeats, [&] { return shared_drain(2, size.rows, report); },
      [&] { return shared_drain(1, size.rows, report); });
  report.add({.name = "postgres.drain.two_relays",
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name = "one relay",
              .goal = Goal{Goal::Kind::ratio_at_least, 1.0}});
}

}  // namespace sagabox::bench::postgres
