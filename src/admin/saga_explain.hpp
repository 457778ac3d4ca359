#pragma once

#include <sagabox/saga_admin.hpp>
#include <sagabox/spi/ownership_store.hpp>

#include <optional>
#include <vector>

namespace sagabox::admin {

/// All that is known about a saga at one moment.
struct SagaFacts {
  SagaView view{};
  Shard shard{};
  std::optional<spi::Census> owners{};  ///< of the scope of its definition; null: not asked
  std::vector<SagaCommand> commands{};  ///< that its owner has not taken yet, the first of them
};

/// Pure: no store, clock or thread.
SagaExplanation explain(const SagaFacts& facts);

}  // namespace sagabox::admin
