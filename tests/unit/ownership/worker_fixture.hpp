#pragma once

#include "ownership/worker.hpp"
#include "support/ownership.hpp"

#include <sagabox/stores/memory.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace sagabox::ownership::testing {

using memory::Fault;
using memory::Operation;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr auto scope_name = "outbox:orders";

/// Workers on a memory store whose faults and clock a test sets.
class WorkerFixture : public ::testing::Test {
 protected:
  WorkerFixture() {
    database.set_faults([this](Operation operation) {
      ++calls[operation];
      auto& planned = faults[operation];
      if (planned.empty()) return down ? Fault::refused : Fault::none;
      const Fault fault = planned.front();
      planned.pop_front();
      return fault;
    });
  }

  std::unique_ptr<Worker> make(RecordingHolder& holder) {
    return make({{.scope = scope_name, .shards = 8, .holder = &holder}});
  }
  std::unique_ptr<Worker> make(std::vector<ScopeOptions> scopes) {
    return std::make_unique<Worker>(
        WorkerParts{.store = store, .ids = ids, .clock = clock, .metrics = metrics, .log = log},
        std::move(scopes), WorkerOptions{});
  }
  /// Time goes on for the database and the workers alike.
  void advance(Duration by) {
    clock.advance(by);
    database_clock.advance(by);
  }
  void pass(const std::vector<Worker*>& workers, Duration time) {
    const auto slice = milliseconds(50);
    for (Duration gone{}; gone < time; gone += slice) {
      run(clock, workers, Duration::zero());
      advance(slice);
    }
    run(clock, workers, Duration::zero());
  }
  spi::Census census() { return store.census(scope_name).value(); }
  std::size_t owned_by(const WorkerId& worker) {
    std::size_t count = 0;
    for (const auto& shard : census().shards) count += shard.owner == worker ? 1 : 0;
    return count;
  }

  ManualClock clock;
  ManualClock database_clock;
  memory::MemoryStore database{memory::Options{.clock = &database_clock}};
  spi::OwnershipStore& store = database.ownership();
  std::unique_ptr<Random> random = seeded_random(7);
  UlidSource ids{clock, *random};
  RecordingMetrics metrics;
  RecordingLog log;
  std::map<Operation, std::deque<Fault>> faults;
  std::map<Operation, int> calls;
  bool down = false;

  RecordingHolder holder_a;
  RecordingHolder holder_b;
  RecordingHolder holder_c;
};

}  // namespace sagabox::ownership::testing
