#include "bench/saga_load.hpp"

#include "bench/memory.hpp"
#include "bench/workload.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sagabox::bench {
namespace {

using std::chrono::microseconds;

constexpr std::int64_t starts_of_a_transaction = 1000;

constexpr std::string_view waiting_name = "bench_waiting";

Sagas sagas_of(Store& store, std::string_view name, std::vector<SagaStep> steps) {
  auto sagas = Sagas::create(store).value();
  sagas.function("nothing", [](const SagaCall&) { return saga_ok(); }).value();
  sagas.define({.name = std::string(name), .steps = std::move(steps)}).value();
  return sagas;
}

std::vector<SagaStep> three_steps() {
  std::vector<SagaStep> steps;
  for (const auto* name : {"one", "two", "three"}) {
    steps.push_back({.name = name, .action = "fn:nothing", .compensation = "none"});
  }
  return steps;
}

void start_sagas(Store& store, Sagas& sagas, std::string_view name, std::int64_t count) {
  for (std::int64_t left = count; left > 0; left -= starts_of_a_transaction) {
    store
        .transaction([&](OwnedTransaction& tx) -> Status {
          for (auto i = std::min(left, starts_of_a_transaction); i > 0; --i) {
            auto started = sagas.start_saga(tx, {.definition = std::string(name)});
            if (!started.ok()) return started.error();
          }
          return {};
        })
        .value();
  }
}

}  // namespace

std::int64_t sagas_count(const Size& size) { return std::max<std::int64_t>(100, size.rows / 10); }

double sagas_rate(Store& store, std::int64_t count) {
  auto sagas = sagas_of(store, saga_name, three_steps());
  start_sagas(store, sagas, saga_name, count);
  const auto begin = Steady::now();
  sagas.start().value();
  await_settled([&] { return sagas.snapshot().completed; }, static_cast<std::uint64_t>(count));
  const auto rate = static_cast<double>(count) / seconds_since(begin);
  sagas.stop().value();
  return rate;
}

std::vector<double> single_saga_microseconds(Store& store, std::uint32_t count) {
  auto sagas = sagas_of(store, saga_name, three_steps());
  sagas.start().value();
  std::vector<double> taken;
  constexpr std::uint32_t warm_up = 20;
  for (std::uint32_t number = 1; number <= count + warm_up; ++number) {
    std::this_thread::sleep_for(microseconds(1000));
    const auto begin = Steady::now();
    (void)sagas.start_saga({.definition = std::string(saga_name)}).value();
    await_settled([&] { return sagas.snapshot().completed; }, number, microseconds(20));
    if (number > warm_up) taken.push_back(seconds_since(begin) * 1e6);
  }
  sagas.stop().value();
  return taken;
}

void add_single_saga(const std::string& name, const Latency& ours, const Latency& bare,
                     Report& report) {
  const auto add = [&](const std::string& what, double value, double baseline) {
    report.add({.name = name + what,
                .value = value / 1000,
                .unit = "ms",
                .baseline = baseline / 1000,
                .baseline_name = "the five commits it needs, by hand",
                .goal = Goal{Goal::Kind::ratio_at_most, 1.5}});
  };
  add(".p50_ms", ours.p50, bare.p50);
  add(".p99_ms", ours.p99, bare.p99);
}

double active_sagas_mib(Store& store, std::int64_t count) {
  auto steps = three_steps();
  steps[1] = {.name = "two", .wait = SagaWait::signal};
  forget_peak();
  auto sagas = sagas_of(store, waiting_name, std::move(steps));
  sagas.start().value();
  start_sagas(store, sagas, waiting_name, count);
  await_settled([&] { return sagas.snapshot().started; }, static_cast<std::uint64_t>(count));
  sagas.stop().value();
  return peak_mib();
}

}  // namespace sagabox::bench
