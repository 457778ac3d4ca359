#pragma once

#include <sagabox/saga_admin.hpp>
#include <sagabox/spi/ownership_store.hpp>

#include <optional>
#include <vector>

namespace sagabox::admin {

/// All facts about a saga at one moment.
struct SagaFacts {
  SagaView view{};
  Shard shard{};
  std::optional<spi::Census> owners{};  ///< of the scope of its definition; nullopt: not asked
  std::vector<SagaCommand> commands{};  ///< the first of those that its owner has not applied yet
};

/// Pure: no store, clock or thread.
SagaExplanation explain(const SagaFacts& facts);

}  // namespace sagabox::admin
