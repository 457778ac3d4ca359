#pragma once

#include "saga/orchestrator/orchestrator.hpp"
#include "simulation/saga/world.hpp"

#include <sagabox/spi/ownership_store.hpp>
#include <sagabox/spi/saga_store.hpp>

#include <functional>
#include <string>

namespace sagabox::simulation {

/// How this variant decides.
saga::Decider decider_of(SagaVariant variant);

/// The store as one process sees it. Watches that nothing is written by a stale owner.
class WatchedSagaStore final : public spi::SagaStore {
 public:
  WatchedSagaStore(spi::SagaStore& store, spi::OwnershipStore& ownership, bool fenced,
                   std::function<void(std::string)> violated)
      : store_(store), ownership_(ownership), fenced_(fenced), violated_(std::move(violated)) {}

  [[nodiscard]] spi::Capabilities capabilities() const override { return store_.capabilities(); }
  Status prepare() override { return {}; }
  Status define(const SagaDefinitionRecord& definition) override {
    return store_.define(definition);
  }
  Result<std::vector<SagaDefinitionRecord>> definitions(std::string_view name) override {
    return store_.definitions(name);
  }
  Result<spi::SagaInboxReply> read_inbox(std::string_view definition,
                                         std::span<const spi::SagaInboxRange> ranges,
                                         std::size_t bytes_max) override {
    return store_.read_inbox(definition, ranges, bytes_max);
  }
  Result<std::vector<SagaRecord>> load(std::span<const SagaId> ids) override {
    return store_.load(ids);
  }
  Result<std::vector<SagaRecord>> load_due(std::string_view definition,
                                           const spi::SagaDueRange& range) override {
    return store_.load_due(definition, range);
  }
  Result<std::vector<SagaCommandResult>> results(std::span<const CommandId> ids) override {
    return store_.results(ids);
  }
  Result<spi::SagaBatchReply> write(const spi::SagaBatch& batch) override;
  void wait(std::string_view, Duration) override {}
  void wake(std::string_view) override {}

 private:
  spi::SagaStore& store_;
  spi::OwnershipStore& ownership_;
  const bool fenced_;
  const std::function<void(std::string)> violated_;
};

}  // namespace sagabox::simulation
