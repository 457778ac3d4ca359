#pragma once

#include "ownership/worker.hpp"
#include "support/ownership.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::ownership {

/// A fresh store whose clock the test moves.
class Place {
 public:
  virtual ~Place() = default;
  virtual spi::OwnershipStore& store() = 0;
  /// The clock that the workers count on, too.
  virtual testing::ManualClock& clock() = 0;
};

struct Backend {
  std::string name;
  std::function<std::unique_ptr<Place>()> make;
  /// Why the suite cannot run here; empty: it can.
  std::function<std::string()> missing = [] { return std::string(); };
};

inline const spi::Scope orders = "outbox:orders";
inline constexpr std::uint16_t shards = 16;

struct Process {
  testing::RecordingHolder holder;
  std::unique_ptr<Worker> worker;
};

/// What workers can rely on, whatever the store.
class OwnershipConformance : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (const auto missing = GetParam().missing(); !missing.empty()) GTEST_SKIP() << missing;
    place = GetParam().make();
    ids.emplace(clock(), *random);
  }
  testing::ManualClock& clock() { return place->clock(); }
  std::unique_ptr<Process> start(Share share = Share::even) {
    auto process = std::make_unique<Process>();
    process->worker = std::make_unique<Worker>(
        WorkerParts{.store = place->store(), .ids = *ids, .clock = clock()},
        std::vector<ScopeOptions>{
            {.scope = orders, .shards = shards, .share = share, .holder = &process->holder}},
        WorkerOptions{});
    return process;
  }
  void pass(const std::vector<Process*>& processes, Duration time) {
    std::vector<Worker*> workers;
    for (Process* process : processes) workers.push_back(process->worker.get());
    testing::run(clock(), workers, time);
    for (Process* process : processes) EXPECT_TRUE(process->holder.violations.empty());
  }
  spi::Census census() { return place->store().census(orders).value(); }

  std::unique_ptr<Place> place;
  std::unique_ptr<Random> random = seeded_random(11);
  std::optional<UlidSource> ids;
};

}  // namespace sagabox::ownership
