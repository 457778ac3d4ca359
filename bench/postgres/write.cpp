#include "bench/baselines/postgres/write.hpp"

#include "bench/duel.hpp"
#include "bench/postgres/bench.hpp"
#include "bench/postgres/world.hpp"

#include <fmt/format.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sagabox::bench::postgres {
namespace {

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
