#include "bench/baselines/hand_over.hpp"
#include "bench/baselines/sqlite/link.hpp"
#include "bench/duel.hpp"
#include "bench/memory.hpp"
#include "bench/sqlite/bench.hpp"
#include "bench/sqlite/sync_time.hpp"
#include "bench/sqlite/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace sagabox::bench::sqlite {
namespace {

void insert_hot_order(OwnedTransaction& tx, std::uint32_t number) {
  const auto sql = fmt::format("INSERT INTO bench_orders VALUES ({}, 'two chairs')", number);
  const int done =
      sqlite3_exec(sagabox::sqlite::connection_of(tx), sql.c_str(), nullptr, nullptr, nullptr);
  if (done != SQLITE_OK) throw std::runtime_error("the order could not be written");
}

/// From the moment the disk has the commit to the first line of the handler. With an order beside
/// the message, on the connection of the transaction, or with the message alone.
Latency hot_latency(std::uint32_t count, bool with_order) {
  world().clear();
  std::vector<double> taken;
  {
    const SyncTime sync;
    const auto store = world().open({.vfs = sync.vfs()});
    taken = hot_microseconds(
        *store, count, [&](Steady::time_point called) { return sync.first_after(called); },
        with_order ? WriteBeside(insert_hot_order) : WriteBeside());
  }
  world().require(0, count, with_order ? count : 0);
  return latency_of(std::move(taken));
}

Latency median_latency(std::uint32_t repeats, const std::function<Latency()>& run) {
  std::vector<double> p50;
  std::vector<double> p99;
  for (std::uint32_t round = 0; round < repeats; ++round) {
    const auto seen = run();
    p50.push_back(seen.p50);
    p99.push_back(seen.p99);
  }
  return {median(p50), median(p99)};
}

}  // namespace

void hot(const Size& size, Report& report) {
  const auto count = std::max(1U, size.hand_overs / 5);
  const auto bare = median_latency(size.repeats, [&] { return hand_over(count, idle_pause); });
  const auto add = [&](const std::string& name, double value, double baseline,
                       std::optional<Goal> goal) {
    report.add({.name = name,
                .value = value,
                .unit = "us",
                .baseline = baseline,
                .baseline_name = "condition variable between threads",
                .goal = goal});
  };
  const auto alone = median_latency(size.repeats, [&] { return hot_latency(count, false); });
  add("sqlite.hot.p50_us", alone.p50, bare.p50, Goal{Goal::Kind::below, 50});
  add("sqlite.hot.p99_us", alone.p99, bare.p99, {});
  const auto beside = median_latency(size.repeats, [&] { return hot_latency(count, true); });
  add("sqlite.hot.with_row.p50_us", beside.p50, bare.p50, {});
}

void pending_memory(const Size& size, Report& report) {
  const auto rows = 5 * size.rows;
  world().fill(rows);
  forget_peak();
  const auto before = peak_mib();
  std::atomic<std::int64_t> handled{0};
  {
    const auto store = world().open();
    auto outbox = Outbox::single_process(*store, deleting()).value();
    outbox
        .listen(Topic(topic),
                [&](const Delivery&) {
                  ++handled;
                  return done();
                })
        .value();
    outbox.start().value();
    // A third of them, at full speed: what is read ahead and what is not yet settled counts.
    await_delivered(outbox, static_cast<std::uint64_t>(rows / 3));
    outbox.stop().value();
  }
  const auto peak = peak_mib();
  report.add({.name = "sqlite.pending_1m.rss_mib",
              .value = peak,
              .unit = "MiB",
              .baseline = before,
              .baseline_name = fmt::format("before; then {} pending, a third delivered", rows),
              .goal = Goal{Goal::Kind::below, 200}});
}

}  // namespace sagabox::bench::sqlite
