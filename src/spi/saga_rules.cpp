#include "spi/saga_rules.hpp"

#include "core/text.hpp"

#include <sagabox/message.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace sagabox::spi {
namespace {

Error refused_command(std::string_view field, std::string_view problem) {
  return {Code::schema_validation_failed, std::string(field) + ": " + std::string(problem)};
}

Error no_fence(Shard shard) {
  return {Code::config_invalid,
          "shard " + std::to_string(shard.value) +
              " has no fence in this batch; give one for every shard it names"};
}

}  // namespace

Status check_command(const SagaCommand& command) {
  if (command.id.empty()) return refused_command("id", "a command needs an id; give a new one");
  if (command.saga.empty()) return refused_command("saga", "name the saga by its id");
  if (auto problem = name_problem(command.definition, saga_name_length_max); !problem.empty()) {
    return refused_command("definition", problem);
  }
  // The limit is that of messages, because the saga's messages have the same tenant.
  if (auto problem = name_problem(command.tenant, MessageRules::tenant_length_max);
      !problem.empty()) {
    return refused_command("tenant", problem);
  }
  if (command.body.size() > saga_command_bytes_max) {
    return refused_command("body", std::to_string(command.body.size()) + " bytes, the limit is " +
                                       std::to_string(saga_command_bytes_max));
  }
  if (auto problem = json_problem(command.body); !problem.empty()) {
    return refused_command("body", problem);
  }
  return {};
}

Status check_batch(const SagaBatch& batch) {
  const auto is_fenced = [&](Shard shard) {
    return std::ranges::any_of(batch.fencing.fences,
                               [&](const Fence& fence) { return fence.shard == shard; });
  };
  std::set<SagaId> seen;
  for (const auto& write : batch.writes) {
    const auto& record = write.record;
    if (!is_fenced(record.shard)) return no_fence(record.shard);
    if (record.definition != batch.definition) {
      return Error{Code::config_invalid, "saga " + record.id.str() + " is one of definition " +
                                             quoted(record.definition) + ", the batch of " +
                                             quoted(batch.definition)};
    }
    if (!seen.insert(record.id).second) {
      return Error{Code::config_invalid, "saga " + record.id.str() + " is in the batch twice"};
    }
    if (record.version == 0) {
      return Error{Code::tx_invalid_state,
                   "saga " + record.id.str() + " has version 0; a new one has 1"};
    }
  }
  for (const auto& taken : batch.taken) {
    if (!is_fenced(taken.shard)) return no_fence(taken.shard);
  }
  return {};
}

namespace {

std::string version_text(std::uint64_t version) {
  return version == 0 ? std::string("is not stored") : "has version " + std::to_string(version);
}

/// Finds the holder of each isolation key after the batch is written.
class Isolation {
 public:
  Isolation(const SagaBatch& batch, const StoredSagas& stored) : stored_(stored) {
    for (const auto& write : batch.writes) written_.emplace(write.record.id, &write.record);
  }

  /// Another saga that holds the isolation key of this one; nullopt if there is none.
  [[nodiscard]] std::optional<SagaId> other_holder(const SagaRecord& record) const {
    const Key key{record.tenant, record.isolate};
    if (const auto other = taken_.find(key); other != taken_.end()) return other->second;
    const auto known = stored_.holders.find(key);
    if (known == stored_.holders.end() || known->second == record.id) return std::nullopt;
    const auto after = written_.find(known->second);
    const bool keeps = after == written_.end() || (holds_isolation(*after->second) &&
                                                   after->second->isolate == record.isolate);
    return keeps ? std::optional(known->second) : std::nullopt;
  }
  void take(const SagaRecord& record) {
    taken_.emplace(Key{record.tenant, record.isolate}, record.id);
  }

 private:
  using Key = std::pair<std::string, std::string>;
  const StoredSagas& stored_;
  std::map<SagaId, const SagaRecord*> written_;
  std::map<Key, SagaId> taken_;
};

bool has_label(const SagaRecord& record, const SagaLabel& label) {
  return std::ranges::find(record.labels, label) != record.labels.end();
}

std::uint64_t stored_version(const StoredSagas& stored, const SagaId& id) {
  const auto known = stored.versions.find(id);
  return known == stored.versions.end() ? 0 : known->second;
}

}  // namespace

void find_conflicts(const SagaBatch& batch, const StoredSagas& stored, SagaBatchReply& reply) {
  Isolation isolation(batch, stored);
  for (const auto& write : batch.writes) {
    const auto& record = write.record;
    const auto version = stored_version(stored, record.id);
    if (version == record.version) continue;
    std::string reason;
    if (version + 1 != record.version) {
      reason = "saga " + record.id.str() + " " + version_text(version) + ", not " +
               std::to_string(record.version - 1);
    } else if (holds_isolation(record)) {
      if (const auto other = isolation.other_holder(record)) {
        reason = "saga " + other->str() + " has the isolation key " + quoted(record.isolate);
      } else {
        isolation.take(record);
      }
    }
    if (reason.empty()) continue;
    reply.conflicting.push_back(record.id);
    reply.reasons.push_back(std::move(reason));
  }
}

bool fits(const SagaRecord& record, const SagaFilter& filter) {
  if (filter.tenant && record.tenant != *filter.tenant) return false;
  if (filter.definition && record.definition != *filter.definition) return false;
  if (filter.state && record.state != *filter.state) return false;
  if (filter.quarantined && record.quarantined != *filter.quarantined) return false;
  if (filter.label && !has_label(record, *filter.label)) return false;
  if (filter.key && record.key != *filter.key) return false;
  if (filter.started_from && record.started_at < *filter.started_from) return false;
  return !filter.started_to || record.started_at < *filter.started_to;
}

bool is_repeated(const SagaBatch& batch, const StoredSagas& stored) {
  if (batch.writes.empty()) {
    return !batch.results.empty() &&
           std::ranges::all_of(batch.results, [&](const SagaCommandResult& result) {
             return stored.results.contains(result.id);
           });
  }
  return std::ranges::all_of(batch.writes, [&](const SagaWrite& write) {
    return stored_version(stored, write.record.id) == write.record.version;
  });
}

}  // namespace sagabox::spi
