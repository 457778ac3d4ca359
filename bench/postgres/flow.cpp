#include "bench/duel.hpp"
#include "bench/postgres/bench.hpp"
#include "bench/postgres/relay.hpp"
#include "bench/postgres/world.hpp"
#include "bench/postgres/writers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

namespace sagabox::bench::postgres {
namespace {

using std::chrono::duration;
using std::chrono::seconds;

/// Writers and a relay at full speed, on an outbox of their own.
class Flow {
 public:
  explicit Flow(const OutboxOptions& options)
      : options_(options), outbox_(Outbox::single_process(*store_, options).value()) {
    outbox_.listen(Topic(topic), [](const Delivery&) { return done(); }).value();
    outbox_.start().value();
    await_shards(outbox_, store_->outbox().capabilities().shards);
  }

  /// How many were settled in each second. `at` is called before each and at the end. Throws unless
  /// every message was settled.
  std::vector<double> run(
      std::uint32_t length, const std::function<void(std::uint32_t)>& at = [](std::uint32_t) {}) {
    std::vector<double> rates;
    std::uint64_t written = 0;
    {
      Writers writers({.outbox = options_.table}, [&] { return outbox_.snapshot().delivered; });
      std::this_thread::sleep_for(seconds(1));
      auto before = outbox_.snapshot().delivered;
      auto begin = Steady::now();
      for (std::uint32_t second = 0; second < length; ++second) {
        at(second);
        std::this_thread::sleep_for(seconds(1));
        const auto now = Steady::now();
        const auto delivered = outbox_.snapshot().delivered;
        rates.push_back(static_cast<double>(delivered - before) /
                        duration<double>(now - begin).count());
        before = delivered;
        begin = now;
      }
      at(length);
      written = writers.stop();
    }
    await_delivered(outbox_, written);
    outbox_.stop().value();
    const auto count = static_cast<std::int64_t>(written);
    world().require(0, options_.retention > Duration{} ? count : 0, options_.table);
    return rates;
  }

 private:
  const OutboxOptions options_;
  const std::unique_ptr<Store> store_ = world().open();
  Outbox outbox_;
};

/// Holds a snapshot open for the fifth tenth, and says what became of the table and what it cost.
std::vector<double> age(std::uint32_t length, Report& report) {
  const auto tenth = length / 10;
  std::optional<by_hand::Link> holder;
  std::vector<CpuTime> used;  // until the beginning of each tenth
  Flow flow(deleting());
  const auto rates = flow.run(length, [&](std::uint32_t second) {
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
  return rates;
}

}  // namespace

void end_to_end(const Size& size, Report& report) {
  constexpr std::uint32_t length = 10;
  std::vector<double> runs;
  for (std::uint32_t round = 0; round < size.repeats; ++round) {
    world().clear();
    runs.push_back(median(Flow({}).run(length)));
  }
  report.add({.name = "postgres.end_to_end",
              .value = median(runs),
              .unit = "messages/s",
              .baseline_name = "none: written and delivered, sustained"});
}

void churn(const Size& size, Report& report) {
  constexpr std::uint32_t length_min = 10;
  const auto length = std::max(length_min, size.seconds.value_or(600));
  const auto tenth = length / 10;
  world().clear();
  const auto rates = age(length, report);
  const auto part = static_cast<std::ptrdiff_t>(tenth);
  report.add({.name = "postgres.churn.last_tenth",
              .value = median({rates.end() - part, rates.end()}),
              .unit = "messages/s",
              .baseline = median({rates.begin(), rates.begin() + part}),
              .baseline_name =
                  fmt::format("the first {} s, {} s before on this host", tenth, length - tenth)});

  const auto rate_of = [&](const std::string& outbox) {
    auto options = deleting();
    options.table = outbox;
    const auto stolen = world().cpu().stolen;
    const auto rate = median(Flow(options).run(tenth));
    report.note(fmt::format(
        "{}: {:.0f} messages/s; the host took {:.0f} %", outbox, rate,
        100 * (world().cpu().stolen - stolen) / (tenth * std::thread::hardware_concurrency())));
    return rate;
  };
  int young = 0;
  const auto rate = duel(
      size.repeats, [&] { return rate_of(OutboxOptions{}.table); },
      [&] { return rate_of(fmt::format("young_{}", ++young)); });
  report.add({.name = "postgres.churn",
              .value = rate.ours,
              .unit = "messages/s",
              .baseline = rate.baseline,
              .baseline_name =
                  fmt::format("the first {} s of a new outbox, in turn after {} s", tenth, length),
              .goal = Goal{Goal::Kind::ratio_at_least, 0.90}});
}

}  // namespace sagabox::bench::postgres
