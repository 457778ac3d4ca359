#pragma once

#include "saga/instance.hpp"

#include <sagabox/store.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::testing {

/// Owns the sagas of one definition and does an orchestrator's work step by step.
class SagaHand {
 public:
  SagaHand(Store& store, SagaDefinition definition)
      : store_(store), definition_(std::move(definition)) {
    EXPECT_TRUE(store_.sagas()->prepare().ok());
    EXPECT_TRUE(store_.sagas()->define(definition_.record(WallTime{})).ok());
    const std::vector<spi::Scope> scopes{scope()};
    constexpr auto lease = std::chrono::hours(24);
    EXPECT_TRUE(store_.ownership().join(owner_, lease, scopes, shards).ok());
    for (const auto& shard : store_.ownership().take(scope(), owner_, shards).value()) {
      fences_.push_back({shard.shard, shard.epoch});
    }
  }

  /// Commands that were not taken, by shard.
  std::vector<SagaCommand> inbox() {
    std::vector<spi::SagaInboxRange> ranges;
    for (const auto& fence : fences_) ranges.push_back({.shard = fence.shard, .rows_max = 1000});
    return store_.sagas()->read_inbox(definition_.name, ranges, 1 << 20).value().rows;
  }

  /// A saga in its first state, as after its start command.
  saga::Instance fresh(std::string_view id) const {
    saga::Instance saga{.id = SagaId::parse(id).value(),
                        .tenant = std::string(tenant_default),
                        .definition = definition_.name,
                        .definition_version = definition_.version};
    saga.steps.resize(definition_.steps.size());
    saga.input = R"({"customer":17})";
    return saga;
  }

  /// Stores a new saga.
  void begin(saga::Instance saga) {
    const SagaCommand start{.id = CommandId::parse("start-" + saga.id.str()).value(),
                            .saga = saga.id,
                            .definition = definition_.name,
                            .tenant = saga.tenant,
                            .body = "{}"};
    const auto appended = store_.transaction([&](OwnedTransaction& transaction) -> Status {
      return transaction.sagas().append(std::span(&start, 1));
    });
    ASSERT_TRUE(appended.ok());
    for (const auto& command : inbox()) {
      if (command.saga == saga.id) saga.shard = command.shard;
    }
    write(saga, {.applied = true});
  }

  struct Outcome {
    bool applied = false;
    std::string reason{};
  };
  /// Stores the saga as it is now; all its waiting commands get this outcome.
  void write(const saga::Instance& saga, const Outcome& outcome,
             std::vector<SagaHistoryEntry> history = {}) {
    std::vector<spi::SagaBatch::Taken> taken;
    std::vector<SagaCommandResult> results;
    for (const auto& command : inbox()) {
      if (command.saga != saga.id) continue;
      taken.push_back({command.shard, command.sequence});
      results.push_back(
          {command.id, command.saga, outcome.applied, outcome.reason, command.written_at});
    }
    const std::vector<spi::SagaWrite> writes{
        {.record = saga::to_record(saga), .history = std::move(history)}};
    const auto reply = store_.sagas()->write({.fencing = {scope(), owner_, fences_},
                                              .definition = definition_.name,
                                              .writes = writes,
                                              .taken = taken,
                                              .results = results,
                                              .messages = {},
                                              .audit = {}});
    ASSERT_TRUE(reply.ok()) << reply.error().text();
    ASSERT_TRUE(reply->written());
  }

  saga::Instance load(std::string_view id) {
    const auto wanted = SagaId::parse(id).value();
    return saga::from_record(store_.sagas()->load(std::span(&wanted, 1)).value().front()).value();
  }

 private:
  [[nodiscard]] spi::Scope scope() const { return "saga:" + definition_.name; }

  static constexpr std::uint16_t shards = 16;
  Store& store_;
  const SagaDefinition definition_;
  const WorkerId owner_ = WorkerId::parse("orchestrator-a").value();
  std::vector<spi::Fence> fences_;
};

}  // namespace sagabox::testing
