#include "bench/duel.hpp"
#include "bench/postgres/bench.hpp"
#include "bench/postgres/relay.hpp"
#include "bench/postgres/world.hpp"
#include "bench/postgres/writers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>

namespace sagabox::bench::postgres {
namespace {

using std::chrono::duration;
using std::chrono::seconds;

/// Writers and a relay at full speed; gives how many were settled in each second. `at` is called
/// before each and at the end.
std::vector<double> settled_each_second(const OutboxOptions& options, std::uint32_t length,
                                        const std::function<void(std::uint32_t second)>& at) {
  world().clear();
  const auto store = world().open();
  auto outbox = Outbox::single_process(*store, options).value();
  outbox.listen(Topic(topic), [](const Delivery&) { return done(); }).value();
  outbox.start().value();
  await_shards(outbox, store->outbox().capabilities().shards);
  std::vector<double> rates;
  std::uint64_t written = 0;
  {
    Writers writers({}, [&] { return outbox.snapshot().delivered; });
    std::this_thread::sleep_for(seconds(1));
    auto before = outbox.snapshot().delivered;
    auto begin = Steady::now();
    for (std::uint32_t second = 0; second < length; ++second) {
      at(second);
      std::this_thread::sleep_for(seconds(1));
      const auto now = Steady::now();
      const auto delivered = outbox.snapshot().delivered;
      rates.push_back(static_cast<double>(delivered - before) /
                      duration<double>(now - begin).count());
      before = delivered;
      begin = now;
    }
    at(length);
    written = writers.stop();
  }
  await_delivered(outbox, written);
  outbox.stop().value();
  const auto count = static_cast<std::int64_t>(written);
  world().require(0, options.retention > Duration{} ? count : 0);
  return rates;
}

}  // namespace

void end_to_end(const Size& size, Report& report) {
  constexpr std::uint32_t length = 10;
  std::vector<double> runs;
  for (std::uint32_t round = 0; round < size.repeats; ++round) {
    runs.push_back(median(settled_each_second({}, length, [](std::uint32_t) {})));
  }
  report.add({.name = "postgres.end_to_end",
              .value = median(runs),
              .unit = "messages/s",
              .baseline_name = "none: written and delivered, sustained"});
}

void churn(const Size& size, Report& report) {
  const auto seconds_all = size.seconds.value_or(600);
  const auto tenth = std::max(1U, seconds_all / 10);
  std::optional<by_hand::Link> holder;
  std::vector<CpuTime> used;  // until the beginning of each tenth
  const auto rates = settled_each_second(deleting(), seconds_all, [&](std::uint32_t second) {
    if (second % tenth == 0) used.push_back(world().cpu());
    if (second == 4 * tenth) {
      holder.emplace(world().url());
      holder->sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM sagabox.outbox");
      report.note("a snapshot is held from here");
    }
    if (second == 5 * tenth) {
      holder.reset();
      report.note("and is let go");
    }
    if (second % tenth == tenth - 1) {
      report.note(fmt::format("second {}: {} of table, {} of its indexes", second + 1,
                              world().sql("SELECT pg_size_pretty(pg_relation_size("
                                          "'sagabox.default_outbox'))"),
                              world().sql("SELECT pg_size_pretty(pg_indexes_size("
                                          "'sagabox.default_outbox'))")));
    }
  });
  const auto part = static_cast<std::ptrdiff_t>(tenth);
  for (std::size_t at = 0; (at + 1) * tenth <= rates.size() && at + 1 < used.size(); ++at) {
    const auto begin = rates.begin() + static_cast<std::ptrdiff_t>(at) * part;
    const auto cpu = used[at + 1] - used[at];
    report.note(fmt::format("seconds {} to {}: {:.0f} messages/s, {}; the host took {:.0f} %",
                            at * tenth, (at + 1) * tenth, median({begin, begin + part}),
                            cpu_text(cpu, std::accumulate(begin, begin + part, 0.0)),
                            100 * cpu.stolen / (tenth * std::thread::hardware_concurrency())));
  }
  report.add({.name = "postgres.churn",
              .value = median({rates.end() - part, rates.end()}),
              .unit = "messages/s",
              .baseline = median({rates.begin(), rates.begin() + part}),
              .baseline_name = fmt::format("the first {} s of {} s", tenth, seconds_all),
              .goal = Goal{Goal::Kind::ratio_at_least, 0.90}});
}

}  // namespace sagabox::bench::postgres
