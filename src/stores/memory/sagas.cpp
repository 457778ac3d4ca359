#include "stores/memory/sagas.hpp"

#include "spi/saga_rules.hpp"
#include "stores/memory/database.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::memory {
namespace {

Error sagas_aborted() {
  return {Code::storage_unavailable,
          "the transaction was aborted by a fail-over; roll back and begin again"};
}

SagaRecord without_labels(SagaRecord record) {
  record.labels.clear();
  return record;
}

}  // namespace

std::string Sagas::signal_name(std::string_view definition) {
  return "saga:" + std::string(definition);
}

spi::Capabilities Sagas::capabilities() const { return database_.capabilities(); }

Status Sagas::define(const SagaDefinitionRecord& definition) {
  return database_.faulty(Operation::saga_define, [&]() -> Status {
    const std::lock_guard lock(database_.mutex_);
    return database_.state_.sagas.define(definition);
  });
}

Result<std::vector<SagaDefinitionRecord>> Sagas::definitions(std::string_view name) {
  using Definitions = std::vector<SagaDefinitionRecord>;
  return database_.faulty(Operation::saga_look, [&]() -> Result<Definitions> {
    const std::lock_guard lock(database_.mutex_);
    return database_.state_.sagas.definitions(name);
  });
}

Status Sagas::append(OpenTransaction& transaction, std::span<const SagaCommand> commands) {
  for (const auto& command : commands) {
    if (auto valid = spi::check_command(command); !valid.ok()) return valid;
  }
  return database_.faulty(Operation::saga_append, [&]() -> Status {
    const std::lock_guard lock(database_.mutex_);
    if (transaction.aborted) return sagas_aborted();
    if (commands.empty()) return {};
    if (auto busy = database_.other_writer(&transaction)) return *std::move(busy);
    if (database_.options_.late_commits == spi::LateCommits::none) database_.writer_ = &transaction;
    for (const auto& command : commands) {
      auto& written = transaction.commands.emplace_back(command);
      written.sequence = Sequence{database_.state_.next_command++};
      written.shard = Shard{
          static_cast<std::uint16_t>(stable_hash(command.saga.view()) % database_.options_.shards)};
      written.written_at = database_.now();
    }
    return {};
  });
}

Result<spi::SagaInboxReply> Sagas::read_inbox(std::string_view definition,
                                              std::span<const spi::SagaInboxRange> ranges,
                                              std::size_t bytes_max) {
  return database_.faulty(Operation::saga_read, [&]() -> Result<spi::SagaInboxReply> {
    spi::SagaInboxReply reply;
    ReadBudget budget(bytes_max);
    const std::lock_guard lock(database_.mutex_);
    for (const auto& range : ranges) {
      auto& part = reply.parts.emplace_back();
      part.exhausted = true;
      const auto* feed = database_.state_.sagas.feed(definition, range.shard);
      if (feed == nullptr) continue;
      for (auto at = feed->upper_bound(range.after); at != feed->end(); ++at) {
        part.exhausted = part.rows < range.rows_max && budget.admit(at->second.body.size());
        if (!part.exhausted) break;
        reply.rows.push_back(at->second);
        ++part.rows;
      }
      if (budget.spent()) break;
    }
    reply.horizon = database_.horizon();
    reply.timeline = database_.timeline_;
    return reply;
  });
}

Result<std::vector<SagaRecord>> Sagas::load(std::span<const SagaId> ids) {
  using Records = std::vector<SagaRecord>;
  return database_.faulty(Operation::saga_load, [&]() -> Result<Records> {
    const std::set<SagaId> wanted(ids.begin(), ids.end());
    Records records;
    const std::lock_guard lock(database_.mutex_);
    for (const auto& id : wanted) {
      const auto* saga = database_.state_.sagas.find(id);
      if (saga != nullptr) records.push_back(without_labels(saga->record));
    }
    return records;
  });
}

Result<std::vector<SagaRecord>> Sagas::load_due(std::string_view definition,
                                                const spi::SagaDueRange& range) {
  using Records = std::vector<SagaRecord>;
  return database_.faulty(Operation::saga_load, [&]() -> Result<Records> {
    Records records;
    const std::lock_guard lock(database_.mutex_);
    const auto& sagas = database_.state_.sagas;
    for (const auto& id : sagas.due(definition, range, database_.now())) {
      records.push_back(without_labels(sagas.find(id)->record));
    }
    return records;
  });
}

Result<std::vector<SagaCommandResult>> Sagas::results(std::span<const CommandId> ids) {
  using Results = std::vector<SagaCommandResult>;
  return database_.faulty(Operation::saga_load, [&]() -> Result<Results> {
    const std::set<CommandId> wanted(ids.begin(), ids.end());
    Results results;
    const std::lock_guard lock(database_.mutex_);
    for (const auto& id : wanted) {
      if (const auto* result = database_.state_.sagas.result(id)) results.push_back(*result);
    }
    return results;
  });
}

/// All or none.
Status Sagas::write_messages(std::span<const spi::SagaMessage> messages) {
  if (messages.empty()) return {};
  if (auto busy = database_.other_writer(nullptr)) return *std::move(busy);
  const TransactionId writer{database_.state_.next_transaction.value++};
  std::vector<std::pair<Table*, Drawn>> inserted;
  const auto undo = [&](Error error) -> Status {
    for (const auto& [table, drawn] : inserted) table->discard(drawn);
    return error;
  };
  for (const auto& message : messages) {
    Table* table = database_.find(message.table);
    if (table == nullptr) return undo(Database::no_table(message.table));
    Drawn drawn;
    auto written = table->insert(writer, std::span(&message.message, 1), database_.now(), drawn);
    if (!written.ok()) return undo(written.error());
    if (drawn.count > 0) inserted.emplace_back(table, drawn);
  }
  for (const auto& [table, drawn] : inserted) table->publish(drawn);
  for (const auto& [table, drawn] : inserted) table->publish_done();
  return {};
}

Result<spi::SagaBatchReply> Sagas::write_locked(const spi::SagaBatch& batch) {
  spi::SagaBatchReply reply;
  auto& state = database_.state_;
  reply.timeline = database_.timeline_;
  reply.held = database_.held(batch.fencing);
  if (!reply.written()) return reply;
  const auto stored = state.sagas.stored(batch);
  spi::find_conflicts(batch, stored, reply);
  if (!reply.written()) return reply;
  if (!spi::is_repeated(batch, stored)) {
    if (auto written = write_messages(batch.messages); !written.ok()) return written.error();
    for (const auto& event : batch.audit) state.audit.append(event);
  }
  state.sagas.apply(batch);
  return reply;
}

Result<spi::SagaBatchReply> Sagas::write(const spi::SagaBatch& batch) {
  if (auto valid = spi::check_batch(batch); !valid.ok()) return valid.error();
  return database_.faulty(Operation::saga_write, [&]() -> Result<spi::SagaBatchReply> {
    auto reply = [&] {
      const std::lock_guard lock(database_.mutex_);
      return write_locked(batch);
    }();
    if (reply.ok() && reply->written() && database_.options_.notifies) {
      for (const auto& message : batch.messages) database_.signal(message.table.str()).notify();
    }
    return reply;
  });
}

void Sagas::wait(std::string_view definition, Duration timeout) {
  database_.signal(signal_name(definition)).wait(timeout);
}

void Sagas::wake(std::string_view definition) {
  database_.signal(signal_name(definition)).notify();
}

Result<std::vector<SagaRecord>> Sagas::list(const spi::SagaListRequest& request) {
  using Records = std::vector<SagaRecord>;
  return database_.faulty(Operation::saga_look, [&]() -> Result<Records> {
    Records records;
    const std::lock_guard lock(database_.mutex_);
    const auto& sagas = database_.state_.sagas.all();
    for (auto at = sagas.upper_bound(request.after);
         at != sagas.end() && records.size() < request.rows_max; ++at) {
      if (!spi::fits(at->second.record, request.filter)) continue;
      auto& record = records.emplace_back(at->second.record);
      if (!request.bodies) record.body.clear();
    }
    return records;
  });
}

Result<std::optional<SagaRecord>> Sagas::get(const SagaId& id) {
  using Found = std::optional<SagaRecord>;
  return database_.faulty(Operation::saga_look, [&]() -> Result<Found> {
    const std::lock_guard lock(database_.mutex_);
    const auto* saga = database_.state_.sagas.find(id);
    return saga == nullptr ? Found() : Found(saga->record);
  });
}

Result<std::vector<SagaHistoryEntry>> Sagas::history(const SagaId& id, std::uint32_t after,
                                                     std::uint32_t rows_max) {
  using Entries = std::vector<SagaHistoryEntry>;
  return database_.faulty(Operation::saga_look, [&]() -> Result<Entries> {
    Entries entries;
    const std::lock_guard lock(database_.mutex_);
    const auto* saga = database_.state_.sagas.find(id);
    if (saga == nullptr) return entries;
    for (const auto& entry : saga->history) {
      if (entry.number > after && entries.size() < rows_max) entries.push_back(entry);
    }
    return entries;
  });
}

Result<std::vector<spi::SagaCount>> Sagas::count(const std::optional<std::string>& tenant) {
  using Counts = std::vector<spi::SagaCount>;
  return database_.faulty(Operation::saga_look, [&]() -> Result<Counts> {
    std::map<std::pair<std::string, SagaState>, spi::SagaCount> counts;
    const std::lock_guard lock(database_.mutex_);
    for (const auto& [id, saga] : database_.state_.sagas.all()) {
      const auto& record = saga.record;
      if (tenant && record.tenant != *tenant) continue;
      auto& count = counts[{record.definition, record.state}];
      count.definition = record.definition;
      count.state = record.state;
      ++count.sagas;
      if (!count.oldest || record.started_at < *count.oldest) count.oldest = record.started_at;
    }
    Counts all;
    for (auto& [key, count] : counts) all.push_back(std::move(count));
    return all;
  });
}

Result<spi::SagaBacklog> Sagas::backlog(std::string_view definition) {
  return database_.faulty(Operation::saga_look, [&]() -> Result<spi::SagaBacklog> {
    const auto keep_earlier = [](std::optional<WallTime>& first, const WallTime& time) {
      if (!first || time < *first) first = time;
    };
    const std::lock_guard lock(database_.mutex_);
    spi::SagaBacklog backlog{.now = database_.now()};
    for (const auto& [id, saga] : database_.state_.sagas.all()) {
      const auto& record = saga.record;
      if (record.definition != definition) continue;
      backlog.running += record.state == SagaState::running ? 1 : 0;
      backlog.compensating += record.state == SagaState::compensating ? 1 : 0;
      backlog.paused += record.state == SagaState::paused ? 1 : 0;
      backlog.dead += record.state == SagaState::failed && !record.quarantined ? 1 : 0;
      if (has_ended(record.state)) continue;
      keep_earlier(backlog.oldest, record.started_at);
      backlog.wait_for_decision += record.person == SagaPersonWait::decision ? 1 : 0;
      backlog.wait_for_approval += record.person == SagaPersonWait::approval ? 1 : 0;
      const bool is_late =
          record.due &&
          std::max(*record.due, record.overdue_from.value_or(*record.due)) <= backlog.now;
      if (is_late) {
        keep_earlier(backlog.overdue_since, record.overdue_from.value_or(*record.due));
      }
    }
    return backlog;
  });
}

Result<std::vector<SagaRecord>> Sagas::without_due(std::string_view definition, const SagaId& after,
                                                   std::uint32_t rows_max) {
  using Records = std::vector<SagaRecord>;
  return database_.faulty(Operation::saga_look, [&]() -> Result<Records> {
    Records records;
    const std::lock_guard lock(database_.mutex_);
    const auto& sagas = database_.state_.sagas.all();
    for (auto at = sagas.upper_bound(after); at != sagas.end() && records.size() < rows_max; ++at) {
      const auto& record = at->second.record;
      const bool is_active =
          record.state == SagaState::running || record.state == SagaState::compensating;
      if (record.definition != definition || !is_active || record.due) continue;
      records.push_back(without_labels(record));
    }
    return records;
  });
}

Result<std::vector<SagaCommand>> Sagas::pending(const SagaId& id, std::uint32_t rows_max) {
  return database_.faulty(Operation::saga_look, [&]() -> Result<std::vector<SagaCommand>> {
    const std::lock_guard lock(database_.mutex_);
    return database_.state_.sagas.pending(id, rows_max);
  });
}

Result<std::uint64_t> Sagas::purge(std::string_view definition, Duration older_than,
                                   std::uint32_t rows_max) {
  return database_.faulty(Operation::saga_purge, [&]() -> Result<std::uint64_t> {
    const std::lock_guard lock(database_.mutex_);
    const auto until = database_.now() - std::chrono::floor<WallTime::duration>(older_than);
    return database_.state_.sagas.purge(definition, until, rows_max);
  });
}

}  // namespace sagabox::memory
