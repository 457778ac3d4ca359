#pragma once

#include <sagabox/spi/saga_inbox.hpp>
#include <sagabox/spi/saga_store.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

/// The checks that every store makes before it writes for sagas. Pure.
namespace sagabox::spi {

/// Larger bodies of commands are refused.
inline constexpr std::size_t saga_command_bytes_max = std::size_t{256} * 1024;
inline constexpr std::size_t saga_name_length_max = 255;

/// SCHEMA.VALIDATION_FAILED for a command that cannot be stored.
Status check_command(const SagaCommand& command);
/// CONFIG.INVALID for a batch that names a shard without a fence, a saga twice or another
/// definition, and TX.INVALID_STATE for a saga without a version.
Status check_batch(const SagaBatch& batch);

/// The stored state of the sagas of a batch.
struct StoredSagas {
  std::map<SagaId, std::uint64_t> versions;  ///< of the stored sagas
  /// The active saga that holds each isolation key, by tenant and key.
  std::map<std::pair<std::string, std::string>, SagaId> holders;
  /// The commands of the batch whose results are stored, if it writes no saga.
  std::set<CommandId> results;
};
/// Fills `conflicting` and `reasons` of the reply.
void find_conflicts(const SagaBatch& batch, const StoredSagas& stored, SagaBatchReply& reply);
/// Whether `StoredSagas::results` is asked for.
inline bool is_known_by_results(const SagaBatch& batch) noexcept {
  return batch.writes.empty() && !(batch.audit.empty() && batch.messages.empty());
}
/// Whether all sagas of the batch have the versions to be written already; of a batch that writes
/// none, whether all its results are there.
bool is_repeated(const SagaBatch& batch, const StoredSagas& stored);

/// `record` must include its labels.
bool fits(const SagaRecord& record, const SagaFilter& filter);

/// Whether the saga counts for its isolation key.
inline bool holds_isolation(const SagaRecord& record) noexcept {
  return !record.isolate.empty() && !has_ended(record.state);
}

}  // namespace sagabox::spi
