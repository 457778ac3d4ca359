#include "spi/saga_rules.hpp"
#include "stores/memory/sagas.hpp"

#include <algorithm>

namespace sagabox::memory {
Status SagaRows::define(const SagaDefinitionRecord& definition) {
  const auto [at, inserted] =
      definitions_.try_emplace({definition.name, definition.version}, definition);
  if (inserted || at->second.digest == definition.digest) return {};
  return Error{Code::tx_invalid_state,
               "version " + std::to_string(definition.version) + " of saga definition " +
                   definition.name +
                   " is stored with other content; give what was changed another version"};
}

std::vector<SagaDefinitionRecord> SagaRows::definitions(std::string_view name) const {
  std::vector<SagaDefinitionRecord> found;
  for (const auto& [key, definition] : definitions_) {
    if (name.empty() || key.first == name) found.push_back(definition);
  }
  return found;
}

const SagaRows::Feed* SagaRows::feed(std::string_view definition, Shard shard) const {
  const auto known = inbox_.find({std::string(definition), shard.value});
  return known == inbox_.end() ? nullptr : &known->second;
}

void SagaRows::publish(const SagaCommand& command) {
  inbox_[{command.definition, command.shard.value}].emplace(command.sequence, command);
}

const SagaRows::Saga* SagaRows::find(const SagaId& id) const {
  const auto known = sagas_.find(id);
  return known == sagas_.end() ? nullptr : &known->second;
}

std::vector<SagaId> SagaRows::due(std::string_view definition, const spi::SagaDueRange& range,
                                  WallTime now) const {
  std::vector<SagaId> found;
  const auto known = due_.find({std::string(definition), range.shard.value});
  if (known == due_.end()) return found;
  for (auto at = known->second.upper_bound({range.after_due, range.after});
       at != known->second.end() && at->first <= now && found.size() < range.rows_max; ++at) {
    found.push_back(at->second);
  }
  return found;
}

const SagaCommandResult* SagaRows::result(const CommandId& id) const {
  const auto known = results_.find(id);
  return known == results_.end() ? nullptr : &known->second;
}

std::vector<SagaCommand> SagaRows::pending(const SagaId& id, std::uint32_t rows_max) const {
  Feed found;
  for (const auto& [key, feed] : inbox_) {
    for (const auto& [sequence, command] : feed) {
      if (command.saga == id) found.emplace(sequence, command);
    }
  }
  std::vector<SagaCommand> commands;
  for (auto& [sequence, command] : found) {
    if (commands.size() < rows_max) commands.push_back(std::move(command));
  }
  return commands;
}

SagaRows::IsolationKey SagaRows::isolation_key(const SagaRecord& record) {
  return {record.definition, record.tenant, record.isolate};
}

spi::StoredSagas SagaRows::stored(const spi::SagaBatch& batch) const {
  spi::StoredSagas stored;
  for (const auto& write : batch.writes) {
    const auto& record = write.record;
    if (const Saga* saga = find(record.id)) {
      stored.versions.emplace(record.id, saga->record.version);
    }
    const auto holder = isolated_.find(isolation_key(record));
    if (holder != isolated_.end()) {
      stored.holders.emplace(std::pair(record.tenant, record.isolate), holder->second);
    }
  }
  if (spi::is_known_by_results(batch)) {
    for (const auto& given : batch.results) {
      if (result(given.id) != nullptr) stored.results.insert(given.id);
    }
  }
  return stored;
}

void SagaRows::add_to_indexes(const SagaRecord& record) {
  if (has_ended(record.state)) return;
  if (record.due) due_[{record.definition, record.shard.value}].emplace(*record.due, record.id);
  if (spi::holds_isolation(record)) isolated_.insert_or_assign(isolation_key(record), record.id);
}

void SagaRows::take_from_indexes(const SagaRecord& record) {
  if (record.due) due_[{record.definition, record.shard.value}].erase({*record.due, record.id});
  if (!spi::holds_isolation(record)) return;
  // It may have gone to another saga of the batch already.
  const auto held = isolated_.find(isolation_key(record));
  if (held != isolated_.end() && held->second == record.id) isolated_.erase(held);
}

void SagaRows::apply(const spi::SagaWrite& write) {
  Saga& saga = sagas_[write.record.id];
  if (saga.record.version != write.record.version) {
    auto record = write.record;
    if (saga.record.version > 0) {
      take_from_indexes(saga.record);
      record.labels = std::move(saga.record.labels);
    }
    std::ranges::sort(record.labels);
    saga.record = std::move(record);
    add_to_indexes(saga.record);
  }
  for (const auto& entry : write.history) {
    const auto at =
        std::ranges::lower_bound(saga.history, entry.number, {}, &SagaHistoryEntry::number);
    if (at == saga.history.end() || at->number != entry.number) saga.history.insert(at, entry);
  }
  std::erase_if(saga.history, [&](const SagaHistoryEntry& entry) {
    return entry.number > saga_history_first && entry.number <= write.history_removed_to;
  });
}

void SagaRows::apply(const spi::SagaBatch& batch) {
  for (const auto& write : batch.writes) apply(write);
  for (const auto& taken : batch.taken) {
    const auto known = inbox_.find({std::string(batch.definition), taken.shard.value});
    if (known == inbox_.end()) continue;
    known->second.erase(taken.sequence);
    if (known->second.empty()) inbox_.erase(known);
  }
  for (const auto& result : batch.results) results_.try_emplace(result.id, result);
}

std::uint64_t SagaRows::purge(std::string_view definition, WallTime until, std::uint32_t rows_max) {
  std::vector<std::pair<WallTime, SagaId>> old;
  for (const auto& [id, saga] : sagas_) {
    const auto& record = saga.record;
    const bool gone = record.state == SagaState::completed || record.state == SagaState::cancelled;
    if (!gone || record.definition != definition || !record.ended_at) continue;
    if (*record.ended_at <= until) old.emplace_back(*record.ended_at, id);
  }
  std::ranges::sort(old);
  if (old.size() > rows_max) old.resize(rows_max);
  std::set<SagaId> removed;
  for (const auto& [at, id] : old) {
    sagas_.erase(id);
    removed.insert(id);
  }
  std::erase_if(results_, [&](const auto& entry) {
    const auto& result = entry.second;
    if (removed.contains(result.saga)) return true;
    return !result.applied && result.at <= until && !sagas_.contains(result.saga);
  });
  return old.size();
}

}  // namespace sagabox::memory
