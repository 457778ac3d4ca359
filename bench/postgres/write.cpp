#include "bench/baselines/postgres/write.hpp"

#include "bench/duel.hpp"
#include "bench/postgres/bench.hpp"
#include "bench/postgres/world.hpp"

#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sagabox::bench::postgres {
namespace {

using by_hand::OrderClient;

constexpr int clients = 8;

/// Transactions a second of eight clients, each with an order and what `write` adds.
double transaction_rate(const Size& size, const std::function<void(OrderClient&)>& run) {
  const auto each = std::max<std::int64_t>(1, size.rows / 10 / clients);
  world().sql(
      "DROP TABLE IF EXISTS bench_orders; CREATE TABLE bench_orders (id int8 PRIMARY KEY, "
      "what text)");
  world().clear();
  std::vector<std::unique_ptr<OrderClient>> all;
  for (int number = 1; number <= clients; ++number) {
    all.push_back(std::make_unique<OrderClient>(world().url(), number));
  }
  std::vector<std::exception_ptr> failures(all.size());
  const auto begin = Steady::now();
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < all.size(); ++at) {
    threads.emplace_back([&, at] {
      try {
        for (std::int64_t i = 0; i < each; ++i) run(*all[at]);
      } catch (...) {
        failures[at] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto took = seconds_since(begin);
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  const auto count = each * clients;
  world().require(count, 0);
  if (world().sql("SELECT count(*) FROM bench_orders") != std::to_string(count)) {
    throw std::runtime_error("orders were lost");
  }
  return static_cast<double>(count) / took;
}

double insert_by_hand(const Size& size) {
  return transaction_rate(size, [](OrderClient& client) {
    client.begin_with_order();
    client.insert_message();
    client.commit();
  });
}

double write_all(Store& store, Outbox& outbox, const Size& size, int batch, int threads_count) {
  world().clear();
  std::atomic<std::int64_t> left{size.rows};
  const auto begin = Steady::now();
  std::vector<std::thread> threads;
  for (int number = 0; number < threads_count; ++number) {
    threads.emplace_back([&] {
      for (;;) {
        const auto before = left.fetch_sub(batch);
        if (before <= 0) return;
        std::vector<NewMessage> drafts;
        drafts.reserve(static_cast<std::size_t>(std::min<std::int64_t>(before, batch)));
        for (auto i = before; i > std::max<std::int64_t>(0, before - batch); --i) {
          drafts.push_back(draft(static_cast<std::uint64_t>(i)));
        }
        (void)store
            .transaction(
                [&](OwnedTransaction& tx) { return outbox.write_all(tx, std::move(drafts)); })
            .value();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto took = seconds_since(begin);
  world().require(size.rows, 0);
  return static_cast<double>(size.rows) / took;
}

}  // namespace

void tx_with_message(const Size& size, Report& report) {
  const auto store = world().open();
  auto outbox = Outbox::writer_only(*store).value();
  std::atomic<std::uint64_t> number{0};
  const auto ours = [&] {
    return transaction_rate(size, [&](OrderClient& client) {
      client.begin_with_order();
      auto tx = sagabox::postgres::enlist(client.handle()).value();
      (void)outbox.write(tx, draft(++number)).value();
      client.commit();
      tx.committed();
    });
  };
  const auto result = duel(size.repeats, ours, [&] { return insert_by_hand(size); });
  report.add({.name = "postgres.tx_with_message",
              .value = result.ours,
              .unit = "transactions/s",
              .baseline = result.baseline,
              .baseline_name = "hand-written INSERT, 8 clients",
              .goal = Goal{Goal::Kind::ratio_at_least, 0.95}});
}

void tx_with_enqueue_function(const Size& size, Report& report) {
  const std::string name = "postgres.tx_with_enqueue_function";
  if (!world().has_function("enqueue")) {
    return report.skip(name, "this schema has no function sagabox.enqueue");
  }
  const auto ours = [&] {
    return transaction_rate(size, [](OrderClient& client) {
      client.begin_with_order();
      client.enqueue_message();
      client.commit();
    });
  };
  const auto result = duel(size.repeats, ours, [&] { return insert_by_hand(size); });
  report.add({.name = name,
              .value = result.ours,
              .unit = "transactions/s",
              .baseline = result.baseline,
              .baseline_name = "hand-written INSERT, 8 clients",
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

void write_batch(const Size& size, Report& report) {
  struct Shape {
    int connections;
    int batch;
  };
  std::vector<Contender> sweep;
  std::vector<Shape> shapes;
  for (const int connections : {2, 1, 4}) {
    for (const int batch : {1000, 250, 4000}) {
      const auto name = fmt::format("{} connections, batches of {}", connections, batch);
      shapes.push_back({connections, batch});
      sweep.push_back({name, [=, &report] {
                         world().clear();
                         const auto rate = by_hand::insert_batches({.url = world().url(),
                                                                    .rows = size.rows,
                                                                    .batch = batch,
                                                                    .connections = connections});
                         world().require(size.rows, 0);
                         report.note(fmt::format("  {:<48}{:>9.0f}/s", name, rate));
                         return rate;
                       }});
    }
  }
  const auto by_hand = best_of("hand-written batch INSERT", sweep, size, report);
  const auto at = static_cast<std::size_t>(
      std::find_if(sweep.begin(), sweep.end(),
                   [&](const Contender& c) { return c.name == by_hand.name; }) -
      sweep.begin());
  const auto store = world().open();
  auto outbox = Outbox::writer_only(*store).value();
  const auto result = duel(
      size.repeats,
      [&] { return write_all(*store, outbox, size, shapes[at].batch, shapes[at].connections); },
      by_hand.run);
  report.add({.name = "postgres.write.batch",
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name = by_hand.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

}  // namespace sagabox::bench::postgres
