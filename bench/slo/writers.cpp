#include "bench/slo/writers.hpp"

#include "bench/workload.hpp"

#include <sagabox/stores/postgres.hpp>

#include <atomic>
#include <future>
#include <thread>

namespace sagabox::bench::slo {

std::vector<Steady::time_point> write_at_pace(const Pace& pace) {
  const auto store = sagabox::postgres::open(pace.url).value();
  auto outbox = Outbox::writer_only(*store).value();
  std::vector<Steady::time_point> committed(pace.messages);
  std::atomic<std::uint64_t> next{0};
  const auto begin = Steady::now();
  const auto write = [&] {
    for (auto number = next.fetch_add(1); number < pace.messages; number = next.fetch_add(1)) {
      std::this_thread::sleep_until(
          begin + number * std::chrono::nanoseconds(std::chrono::seconds(1)) / pace.rate);
      (void)store
          ->transaction([&](OwnedTransaction& tx) { return outbox.write(tx, draft(number)); })
          .value();
      committed[number] = Steady::now();
    }
  };
  std::vector<std::future<void>> threads;
  for (int thread = 0; thread < pace.threads; ++thread) {
    threads.push_back(std::async(std::launch::async, write));
  }
  for (auto& thread : threads) thread.get();
  return committed;
}

}  // namespace sagabox::bench::slo
