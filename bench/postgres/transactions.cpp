#include "bench/baselines/postgres/write.hpp"
#include "bench/duel.hpp"
#include "bench/postgres/bench.hpp"
#include "bench/postgres/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox::bench::postgres {
namespace {

using by_hand::OrderClient;
using Clients = std::vector<std::unique_ptr<OrderClient>>;
using Run = std::function<void(OrderClient&)>;

constexpr int clients_count = 8;
/// Of each client. A turn takes a tenth of a second or two, less than the moods of a machine.
constexpr std::int64_t turn_length = 100;

/// One of two ways to do it, and what it took so far.
struct Side {
  std::string name;
  Run run;
  std::int64_t count = 0;
  double seconds = 0;
  CpuTime cpu{};

  [[nodiscard]] double rate() const { return static_cast<double>(count) / seconds; }
};

/// Every client runs it so often, all at the same time.
void run_at_once(const Clients& clients, std::int64_t times, const Run& run) {
  std::vector<std::exception_ptr> failures(clients.size());
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < clients.size(); ++at) {
    threads.emplace_back([&, at] {
      try {
        for (std::int64_t i = 0; i < times; ++i) run(*clients[at]);
      } catch (...) {
        failures[at] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void take_turn(Side& side, const Clients& clients) {
  const auto cpu_before = world().cpu();
  const auto begin = Steady::now();
  run_at_once(clients, turn_length, side.run);
  side.seconds += seconds_since(begin);
  side.cpu += world().cpu() - cpu_before;
  side.count += turn_length * clients_count;
}

/// Both sides in short turns on the same connections and the same tables, so that both meet the
/// same server, files and machine; who begins changes from turn to turn. What a side leaves to be
/// done later, of checkpoints and vacuums, both pay alike.
void race(Side& ours, Side& baseline, std::int64_t transactions) {
  world().sql(
      "DROP TABLE IF EXISTS bench_orders; CREATE TABLE bench_orders (id int8 PRIMARY KEY, "
      "what text)");
  world().clear();
  Clients clients;
  for (int number = 1; number <= clients_count; ++number) {
    clients.push_back(std::make_unique<OrderClient>(world().url(), number));
  }
  constexpr std::int64_t warm_up = 10;  // statements are prepared, pages are there
  for (const auto* side : {&ours, &baseline}) run_at_once(clients, warm_up, side->run);
  for (int turn = 0; ours.count < transactions; ++turn) {
    take_turn(turn % 2 == 0 ? ours : baseline, clients);
    take_turn(turn % 2 == 0 ? baseline : ours, clients);
  }
  const auto all = ours.count + baseline.count + 2 * warm_up * clients_count;
  world().require(all, 0);
  if (world().sql("SELECT count(*) FROM bench_orders") != std::to_string(all)) {
    throw std::runtime_error("orders were lost");
  }
}

void insert_by_hand(OrderClient& client) {
  client.begin_with_order();
  client.insert_message();
  client.commit();
}

/// Transactions with an order and a message each: `ours` beside the INSERT of one who writes it
/// himself.
void measure(const std::string& name, double goal, const Run& ours, const Size& size,
             Report& report) {
  std::vector<Rates> rounds;
  for (std::uint32_t round = 0; round < size.repeats; ++round) {
    Side mine{"ours", ours};
    Side baseline{"by hand", insert_by_hand};
    race(mine, baseline, std::max(turn_length * clients_count, size.rows / 10));
    for (const auto* side : {&mine, &baseline}) {
      report.note(fmt::format("  {:<48}{:>9.0f}/s, {}", side->name, side->rate(),
                              cpu_text(side->cpu, static_cast<double>(side->count))));
    }
    rounds.push_back({mine.rate(), baseline.rate()});
  }
  const auto middle = middle_of(std::move(rounds));
  report.add({.name = name,
              .value = middle.ours,
              .unit = "transactions/s",
              .baseline = middle.baseline,
              .baseline_name = "hand-written INSERT, 8 clients",
              .goal = Goal{Goal::Kind::ratio_at_least, goal}});
}

}  // namespace

void tx_with_message(const Size& size, Report& report) {
  const auto store = world().open();
  auto outbox = Outbox::writer_only(*store).value();
  std::atomic<std::uint64_t> number{0};
  const auto ours = [&](OrderClient& client) {
    client.begin_with_order();
    auto tx = sagabox::postgres::enlist(client.handle()).value();
    (void)outbox.write(tx, draft(++number)).value();
    client.commit();
    tx.committed();
  };
  measure("postgres.tx_with_message", 0.95, ours, size, report);
}

void tx_with_enqueue_function(const Size& size, Report& report) {
  const std::string name = "postgres.tx_with_enqueue_function";
  if (!world().has_function("enqueue")) {
    return report.skip(name, "this schema has no function sagabox.enqueue");
  }
  const auto ours = [](OrderClient& client) {
    client.begin_with_order();
    client.enqueue_message();
    client.commit();
  };
  measure(name, 0.80, ours, size, report);
}

}  // namespace sagabox::bench::postgres
