#pragma once

#include <sagabox/spi/saga_inbox.hpp>
#include <sagabox/spi/saga_store.hpp>

#include <cstddef>

/// What every store checks before it writes anything for sagas. Pure.
namespace sagabox::spi {

/// Larger bodies of commands are refused.
inline constexpr std::size_t saga_command_bytes_max = std::size_t{256} * 1024;
inline constexpr std::size_t saga_name_length_max = 255;

/// SCHEMA.VALIDATION_FAILED for a command that cannot be stored.
Status check_command(const SagaCommand& command);
/// CONFIG.INVALID for a batch that names a shard without a fence, a saga twice or another
/// definition, and TX.INVALID_STATE for a saga without a version.
Status check_batch(const SagaBatch& batch);

/// Whether the saga counts for its isolation key.
inline bool holds_isolation(const SagaRecord& record) noexcept {
  return !record.isolate.empty() && !has_ended(record.state);
}

}  // namespace sagabox::spi
