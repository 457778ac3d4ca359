#include "bench/baselines/sqlite/write.hpp"

#include "bench/duel.hpp"
#include "bench/sqlite/bench.hpp"
#include "bench/sqlite/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <ranges>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sagabox::bench::sqlite {
namespace {

using by_hand::sqlite::OrderClient;

/// What the store has; the default of SQLite is 1000.
constexpr int store_checkpoint_pages = 4096;

/// Runs `run(thread, i)` so often on so many threads at once. Transactions a second.
double rate_of(int threads_count, std::int64_t each,
               const std::function<void(int thread, std::int64_t i)>& run) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(threads_count));
  const auto begin = Steady::now();
  std::vector<std::thread> threads;
  for (int number = 0; number < threads_count; ++number) {
    threads.emplace_back([&, number] {
      try {
        for (std::int64_t i = 0; i < each; ++i) run(number, i);
      } catch (...) {
        failures[static_cast<std::size_t>(number)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto took = seconds_since(begin);
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return static_cast<double>(each * threads_count) / took;
}

std::int64_t transactions(const Size& size) { return std::max<std::int64_t>(8, size.rows / 50); }

/// An order and what `write` adds, on a connection of the caller's.
double client_rate(const Size& size, int checkpoint_pages,
                   const std::function<void(OrderClient&)>& run) {
  world().clear();
  const auto each = transactions(size);
  double rate = 0;
  {
    OrderClient client(world().path(), 1, checkpoint_pages);
    rate = rate_of(1, each, [&](int, std::int64_t) { run(client); });
  }
  world().require(each, 0, each);
  return rate;
}

double by_hand_rate(const Size& size, int checkpoint_pages) {
  return client_rate(size, checkpoint_pages, [](OrderClient& client) {
    client.begin_with_order();
    client.insert_message();
    client.commit();
  });
}

double enlisted_rate(const Size& size, int checkpoint_pages) {
  world().clear();
  const auto store = world().open();
  auto outbox = Outbox::writer_only(*store).value();
  std::uint64_t number = 0;
  const auto each = transactions(size);
  double rate = 0;
  {
    OrderClient client(world().path(), 1, checkpoint_pages);
    rate = rate_of(1, each, [&](int, std::int64_t) {
      client.begin_with_order();
      auto tx = sagabox::sqlite::enlist(client.handle()).value();
      (void)outbox.write(tx, draft(++number)).value();
      client.commit();
      tx.committed();
    });
  }
  world().require(each, 0, each);
  return rate;
}

void insert_order(sqlite3* connection, sqlite3_stmt* statement, std::int64_t id) {
  sqlite3_bind_int64(statement, 1, id);
  sqlite3_bind_text(statement, 2, "two chairs", -1, SQLITE_STATIC);
  const bool done = sqlite3_step(statement) == SQLITE_DONE;
  sqlite3_reset(statement);
  if (!done) throw std::runtime_error(sqlite3_errmsg(connection));
}

/// In transactions of the store's, from so many threads.
double owned_rate(const Size& size, int threads) {
  world().clear();
  const auto each = transactions(size) / threads;
  double rate = 0;
  {
    const auto store = world().open();
    auto outbox = Outbox::writer_only(*store).value();
    std::atomic<std::int64_t> last{0};
    // The connection is one, and of whoever has the turn; so is the statement.
    sqlite3_stmt* order = nullptr;
    rate = rate_of(threads, each, [&](int, std::int64_t) {
      const auto written = store->transaction([&](OwnedTransaction& tx) {
        sqlite3* connection = sagabox::sqlite::connection_of(tx);
        if (order == nullptr) {
          sqlite3_prepare_v3(connection, "INSERT INTO bench_orders (id, what) VALUES (?1, ?2)", -1,
                             SQLITE_PREPARE_PERSISTENT, &order, nullptr);
        }
        const auto id = ++last;
        insert_order(connection, order, id);
        return outbox.write(tx, draft(static_cast<std::uint64_t>(id)));
      });
      (void)written.value();
    });
    sqlite3_finalize(order);
  }
  world().require(each * threads, 0, each * threads);
  return rate;
}

/// Eight clients by hand, each with a connection: SQLite lets them take turns, syncs included.
double clients_rate(const Size& size, int checkpoint_pages, int clients) {
  world().clear();
  const auto each = transactions(size) / clients;
  double rate = 0;
  {
    std::vector<std::unique_ptr<OrderClient>> all;
    for (int number = 1; number <= clients; ++number) {
      all.push_back(std::make_unique<OrderClient>(world().path(), number, checkpoint_pages));
    }
    rate = rate_of(clients, each, [&](int thread, std::int64_t) {
      auto& client = *all[static_cast<std::size_t>(thread)];
      client.begin_with_order();
      client.insert_message();
      client.commit();
    });
  }
  world().require(each * clients, 0, each * clients);
  return rate;
}

double write_all(const Size& size, int batch) {
  world().clear();
  double rate = 0;
  {
    const auto store = world().open();
    auto outbox = Outbox::writer_only(*store).value();
    const auto begin = Steady::now();
    write_messages(*store, outbox, static_cast<std::uint64_t>(size.rows),
                   static_cast<std::uint64_t>(batch));
    rate = static_cast<double>(size.rows) / seconds_since(begin);
  }
  world().require(size.rows, 0);
  return rate;
}

struct Checkpoints {
  int pages;
  std::string name;
};
const std::vector<Checkpoints> checkpoints{{store_checkpoint_pages, "a checkpoint at 4096 pages"},
                                           {1000, "a checkpoint at 1000 pages"}};

}  // namespace

void tx_with_message(const Size& size, Report& report) {
  int pages = store_checkpoint_pages;
  std::vector<Contender> sweep;
  // The default of SQLite wins here.
  for (const auto& checkpoint : std::views::reverse(checkpoints)) {
    sweep.push_back({checkpoint.name, [&size, &report, checkpoint] {
                       const auto rate = by_hand_rate(size, checkpoint.pages);
                       report.note(fmt::format("  {:<48}{:>9.0f}/s", checkpoint.name, rate));
                       return rate;
                     }});
  }
  const auto best = best_of("hand-written INSERT", sweep, size, report);
  for (const auto& [at, name] : checkpoints) {
    if (name == best.name) pages = at;
  }
  const auto add = [&](const std::string& name, const Rates& result, const std::string& against,
                       std::optional<Goal> goal) {
    report.add({.name = name,
                .value = result.ours,
                .unit = "transactions/s",
                .baseline = result.baseline,
                .baseline_name = against,
                .goal = goal});
  };
  add("sqlite.tx_with_message",
      duel(
          size.repeats, [&] { return enlisted_rate(size, pages); }, best.run),
      "hand-written INSERT, " + best.name, Goal{Goal::Kind::ratio_at_least, 0.95});
  add("sqlite.tx_with_message.owned",
      duel(
          size.repeats, [&] { return owned_rate(size, 1); }, best.run),
      "hand-written INSERT, " + best.name, {});
  constexpr int many = 8;
  add("sqlite.tx_with_message.8_threads",
      duel(
          size.repeats, [&] { return owned_rate(size, many); },
          [&] { return clients_rate(size, pages, many); }),
      "hand-written INSERT, 8 connections", {});
}

void write_batch(const Size& size, Report& report) {
  std::vector<Contender> sweep;
  std::vector<int> batches;
  for (const auto& checkpoint : checkpoints) {
    for (const int batch : {4000, 1000, 250}) {
      const auto full_name = fmt::format("batches of {}, {}", batch, checkpoint.name);
      batches.push_back(batch);
      sweep.push_back({full_name, [=, &size, &report, pages = checkpoint.pages] {
                         world().clear();
                         const auto rate =
                             by_hand::sqlite::insert_batches({.path = world().path(),
                                                              .rows = size.rows,
                                                              .batch = batch,
                                                              .checkpoint_pages = pages});
                         world().require(size.rows, 0);
                         report.note(fmt::format("  {:<48}{:>9.0f}/s", full_name, rate));
                         return rate;
                       }});
    }
  }
  const auto by_hand = best_of("hand-written batch INSERT", sweep, size, report);
  const auto at = std::ranges::find(sweep, by_hand.name, &Contender::name) - sweep.begin();
  const auto batch = batches[static_cast<std::size_t>(at)];
  const auto ours = [&] {
    const auto rate = write_all(size, batch);
    report.note(fmt::format("  {:<48}{:>9.0f}/s", "ours", rate));
    return rate;
  };
  const auto result = duel(size.repeats, ours, by_hand.run);
  report.add({.name = "sqlite.write.batch",
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name = by_hand.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

}  // namespace sagabox::bench::sqlite
