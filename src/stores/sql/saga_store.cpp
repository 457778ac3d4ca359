#include "stores/sql/saga_store.hpp"

#include "core/stored_message.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace sagabox::sql {
namespace {

/// A batch that met another one's writes is tried again so often.
constexpr int write_tries_max = 5;
/// Stands for no time in a list.
constexpr WallTime no_time{};

template <class IdType>
IdType id_from(std::string_view text) {
  auto id = IdType::parse(text);
  return id.ok() ? *id : IdType{};
}

template <class IdType>
std::vector<std::string> texts_of(std::span<const IdType> ids) {
  std::vector<std::string> texts;
  for (const auto& id : ids) texts.push_back(id.str());
  return texts;
}

Error other_digest(const SagaDefinitionRecord& definition) {
  return {Code::tx_invalid_state,
          "version " + std::to_string(definition.version) + " of saga definition " +
              definition.name +
              " is stored with other content; give what was changed another version"};
}

/// The writes of a batch as lists; those that end first, as they give isolation keys away.
struct WriteLists {
  explicit WriteLists(std::span<const spi::SagaWrite> writes) {
    for (const bool ended : {true, false}) {
      for (const auto& write : writes) {
        if (has_ended(write.record.state) == ended) add(write.record);
      }
    }
  }

  void add(const SagaRecord& record) {
    ids.push_back(record.id.str());
    tenants.push_back(record.tenant);
    definition_versions.push_back(record.definition_version);
    states.emplace_back(saga_state_name(record.state));
    quarantined.push_back(record.quarantined ? 1 : 0);
    versions.push_back(static_cast<std::int64_t>(record.version));
    due.push_back(record.due.value_or(no_time));
    keys.push_back(record.key);
    isolates.push_back(record.isolate);
    started_at.push_back(record.started_at);
    changed_at.push_back(record.changed_at);
    ended_at.push_back(record.ended_at.value_or(no_time));
    bodies.push_back(record.body);
    persons.emplace_back(saga_person_wait_name(record.person));
    overdue_from.push_back(record.overdue_from.value_or(no_time));
  }

  std::vector<std::string> ids, tenants, states, keys, isolates, bodies, persons;
  std::vector<std::int64_t> definition_versions, quarantined, versions;
  std::vector<WallTime> due, started_at, changed_at, ended_at, overdue_from;
};

Values values_of_writes(std::string_view definition, std::span<const spi::SagaWrite> writes) {
  WriteLists lists(writes);
  return {definition,
          std::move(lists.ids),
          std::move(lists.tenants),
          std::move(lists.definition_versions),
          std::move(lists.states),
          std::move(lists.quarantined),
          std::move(lists.versions),
          std::move(lists.due),
          std::move(lists.keys),
          std::move(lists.isolates),
          std::move(lists.started_at),
          std::move(lists.changed_at),
          std::move(lists.ended_at),
          std::move(lists.bodies),
          std::move(lists.persons),
          std::move(lists.overdue_from),
          by_element(writes.size())};
}

std::optional<Values> values_of_history(std::span<const spi::SagaWrite> writes) {
  std::vector<std::string> sagas, events, steps, details;
  std::vector<std::int64_t> numbers;
  std::vector<WallTime> times;
  std::vector<Bytes> hashes;
  for (const auto& write : writes) {
    for (const auto& entry : write.history) {
      sagas.push_back(write.record.id.str());
      numbers.push_back(entry.number);
      times.push_back(entry.at);
      events.push_back(entry.event);
      steps.push_back(entry.step);
      details.push_back(entry.detail);
      hashes.emplace_back(bytes_of(entry.hash));
    }
  }
  if (sagas.empty()) return std::nullopt;
  return Values{std::move(sagas), std::move(numbers), std::move(times), std::move(events),
                std::move(steps), std::move(details), std::move(hashes)};
}

std::optional<Values> values_of_cuts(std::span<const spi::SagaWrite> writes) {
  std::vector<std::string> sagas;
  std::vector<std::int64_t> last;
  for (const auto& write : writes) {
    if (write.history_removed_to <= saga_history_first) continue;
    sagas.push_back(write.record.id.str());
    last.push_back(write.history_removed_to);
  }
  if (sagas.empty()) return std::nullopt;
  const auto count = sagas.size();
  return Values{std::move(sagas), std::move(last), saga_history_first, by_element(count)};
}

std::optional<Values> values_of_labels(std::span<const spi::SagaWrite> writes) {
  std::vector<std::string> sagas, names, values;
  for (const auto& write : writes) {
    if (write.record.version != 1) continue;
    for (const auto& label : write.record.labels) {
      sagas.push_back(write.record.id.str());
      names.push_back(label.name);
      values.push_back(label.value);
    }
  }
  if (sagas.empty()) return std::nullopt;
  const auto count = sagas.size();
  return Values{std::move(sagas), std::move(names), std::move(values), by_element(count)};
}

Values values_of_taken(std::string_view definition, std::span<const spi::SagaBatch::Taken> taken) {
  std::vector<std::int64_t> shards, sequences;
  for (const auto& row : taken) {
    shards.push_back(row.shard.value);
    sequences.push_back(static_cast<std::int64_t>(row.sequence.value));
  }
  return {definition, std::move(shards), std::move(sequences)};
}

Values values_of_results(std::span<const SagaCommandResult> results) {
  std::vector<std::string> ids, sagas, reasons;
  std::vector<std::int64_t> applied;
  std::vector<WallTime> times;
  for (const auto& result : results) {
    ids.push_back(result.id.str());
    sagas.push_back(result.saga.str());
    applied.push_back(result.applied ? 1 : 0);
    reasons.push_back(result.reason);
    times.push_back(result.at);
  }
  return {std::move(ids),     std::move(sagas), std::move(applied),
          std::move(reasons), std::move(times), by_element(results.size())};
}

Status insert_messages_of(OwnedTransaction& tx, std::span<const spi::SagaMessage> messages) {
  std::map<TableName, std::vector<std::shared_ptr<const Message>>> by_table;
  for (const auto& message : messages) by_table[message.table].push_back(message.message);
  for (const auto& [table, of_table] : by_table) {
    auto written = tx.outbox().insert_blind(table, of_table);
    if (!written.ok()) return written.error();
  }
  return {};
}

/// Makes the reply of a read out of rows in the order of the ranges; of each range there may be one
/// more than was asked for.
class InboxPages {
 public:
  InboxPages(std::span<const spi::SagaInboxRange> ranges, std::size_t bytes_max)
      : ranges_(ranges), bytes_max_(bytes_max) {}

  /// `number`: of the range, from 1.
  void add(std::size_t number, SagaCommand command) {
    if (full_ || number > ranges_.size()) return;
    reply_.parts.resize(std::max(reply_.parts.size(), number), {0, true});
    auto& part = reply_.parts[number - 1];
    const bool fits = reply_.rows.empty() || bytes_ + command.body.size() <= bytes_max_;
    const bool wanted = part.rows < ranges_[number - 1].rows_max;
    part.exhausted = wanted && fits;
    full_ = wanted && !fits;
    if (!part.exhausted) return;
    bytes_ += command.body.size();
    reply_.rows.push_back(std::move(command));
    ++part.rows;
  }

  spi::SagaInboxReply finish() {
    if (!full_) reply_.parts.resize(ranges_.size(), {0, true});
    return std::move(reply_);
  }

 private:
  std::span<const spi::SagaInboxRange> ranges_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  bool full_ = false;
  spi::SagaInboxReply reply_;
};

}  // namespace

SagaStatements::SagaStatements(Sections& sections)
    : shards(sections.take("saga_shards")),
      define(sections.take("saga_define")),
      definitions(sections.take("saga_definitions")),
      read(sections.take("saga_read_inbox")),
      draw_transaction(sections.take("saga_draw_transaction")),
      load(sections.take("saga_load")),
      load_due(sections.take("saga_load_due")),
      results(sections.take("saga_results")),
      hold(sections.take("saga_hold")),
      versions(sections.take("saga_versions")),
      holders(sections.take("saga_holders")),
      write(sections.take("saga_write")),
      add_history(sections.take("saga_add_history")),
      cut_history(sections.take("saga_cut_history")),
      add_labels(sections.take("saga_add_labels")),
      take(sections.take("saga_take")),
      add_results(sections.take("saga_add_results")) {}

SagaRecord saga_record(const Row& row) {
  SagaRecord record;
  record.id = id_from<SagaId>(row.text(0));
  record.tenant = row.text(1);
  record.definition = row.text(2);
  record.definition_version = row.natural32(3);
  record.shard = Shard{static_cast<std::uint16_t>(row.integer(4))};
  record.state = saga_state_from_name(row.text(5)).value_or(SagaState::failed);
  record.quarantined = row.boolean(6);
  record.version = row.natural(7);
  record.due = row.maybe_time(8);
  record.key = row.text(9);
  record.isolate = row.text(10);
  record.started_at = row.time(11);
  record.changed_at = row.time(12);
  record.ended_at = row.maybe_time(13);
  record.body = row.text(14);
  record.person = saga_person_wait_from_name(row.text(15)).value_or(SagaPersonWait::none);
  record.overdue_from = row.maybe_time(16);
  return record;
}

SagaCommand saga_command(const Row& row, int column) {
  SagaCommand command;
  command.sequence = Sequence{row.natural(column)};
  command.id = id_from<CommandId>(row.text(column + 1));
  command.saga = id_from<SagaId>(row.text(column + 2));
  command.definition = row.text(column + 3);
  command.tenant = row.text(column + 4);
  command.kind = saga_command_from_name(row.text(column + 5)).value_or(SagaCommandKind::start);
  command.body = row.text(column + 6);
  command.written_at = row.time(column + 7);
  command.shard = Shard{static_cast<std::uint16_t>(row.integer(column + 8))};
  return command;
}

std::optional<WallTime> SagaStore::now() const {
  return parts_.clock == nullptr ? std::nullopt : std::optional(parts_.clock->wall_now());
}

Result<Rows> SagaStore::read(const Statement& statement, Values values) {
  auto session = parts_.sessions.reader();
  if (!session.ok()) return session.error();
  return (*session)->run(statement, std::move(values));
}

Status SagaStore::prepare() {
  if (auto made = parts_.prepare(); !made.ok()) return made;
  auto rows = read(statements_.shards, {});
  if (!rows.ok()) return rows.error();
  const auto shards = rows->empty() ? 0 : rows->front().integer(0);
  if (shards == parts_.capabilities.shards) return {};
  return Error{Code::config_invalid,
               "the tables of sagas were made for " + std::to_string(shards) + " shards, not " +
                   std::to_string(parts_.capabilities.shards) + "; open the store with this count"};
}

Status SagaStore::define(const SagaDefinitionRecord& definition) {
  auto session = parts_.sessions.autocommit();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(
      statements_.define, {definition.name, definition.version, Bytes(bytes_of(definition.digest)),
                           definition.text, definition.registered_at});
  if (!rows.ok()) return rows.error();
  // No row where another transaction defined it at the same moment, and is seen only now.
  if (rows->empty()) {
    auto known = definitions(definition.name);
    if (!known.ok()) return known.error();
    for (const auto& one : *known) {
      if (one.version == definition.version && one.digest == definition.digest) return {};
    }
    return other_digest(definition);
  }
  if (digest_of(rows->front().text(0)) == definition.digest) return {};
  return other_digest(definition);
}

Result<std::vector<SagaDefinitionRecord>> SagaStore::definitions(std::string_view name) {
  auto rows = read(statements_.definitions, {name});
  if (!rows.ok()) return rows.error();
  std::vector<SagaDefinitionRecord> definitions;
  for (const auto row : *rows) {
    definitions.push_back({.name = std::string(row.text(0)),
                           .version = row.natural32(1),
                           .digest = digest_of(row.text(2)),
                           .text = std::string(row.text(3)),
                           .registered_at = row.time(4)});
  }
  return definitions;
}

Result<spi::SagaInboxReply> SagaStore::read_inbox(std::string_view definition,
                                                  std::span<const spi::SagaInboxRange> ranges,
                                                  std::size_t bytes_max) {
  auto reply = read_inbox_once(definition, ranges, bytes_max);
  if (!reply.ok() || parts_.horizon == nullptr) return reply;
  if (!reply->horizon) {
    auto drawn = read(statements_.draw_transaction, {});
    if (!drawn.ok()) return drawn.error();
    reply = read_inbox_once(definition, ranges, bytes_max);
    if (reply.ok() && !reply->horizon) {
      return Error{Code::storage_unavailable,
                   "more transactions began during one read than it can name; try again"};
    }
  }
  if (reply.ok() && parts_.looked) parts_.looked(*reply->horizon, reply->rows.size());
  return reply;
}

Result<spi::SagaInboxReply> SagaStore::read_inbox_once(std::string_view definition,
                                                       std::span<const spi::SagaInboxRange> ranges,
                                                       std::size_t bytes_max) {
  std::vector<std::int64_t> shards, after, rows_max;
  for (const auto& range : ranges) {
    shards.push_back(range.shard.value);
    after.push_back(static_cast<std::int64_t>(range.after.value));
    rows_max.push_back(range.rows_max);
  }
  auto session = parts_.sessions.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(statements_.read, {definition, std::move(shards), std::move(after),
                                                 std::move(rows_max), bytes_max});
  if (!rows.ok()) return rows.error();
  InboxPages pages(ranges, bytes_max);
  std::optional<spi::Horizon> horizon;
  constexpr int command_column = 4;
  for (const auto row : *rows) {
    if (row.integer(0) != 0) {
      pages.add(row.natural(0), saga_command(row, command_column));
    } else if (parts_.horizon != nullptr) {
      horizon = parts_.horizon(row);
    }
  }
  auto reply = pages.finish();
  reply.horizon = std::move(horizon);
  reply.timeline = (*session)->timeline();
  return reply;
}

Result<std::vector<SagaRecord>> SagaStore::load(std::span<const SagaId> ids) {
  std::vector<SagaRecord> records;
  if (ids.empty()) return records;
  auto rows = read(statements_.load, {texts_of(ids)});
  if (!rows.ok()) return rows.error();
  for (const auto row : *rows) records.push_back(saga_record(row));
  return records;
}

Result<std::vector<SagaRecord>> SagaStore::load_due(std::string_view definition,
                                                    const spi::SagaDueRange& range) {
  auto rows = read(statements_.load_due, {definition, range.shard.value, range.after_due,
                                          range.after.view(), range.rows_max, now()});
  if (!rows.ok()) return rows.error();
  std::vector<SagaRecord> records;
  for (const auto row : *rows) records.push_back(saga_record(row));
  return records;
}

Result<std::vector<SagaCommandResult>> SagaStore::results(std::span<const CommandId> ids) {
  std::vector<SagaCommandResult> results;
  if (ids.empty()) return results;
  auto rows = read(statements_.results, {texts_of(ids)});
  if (!rows.ok()) return rows.error();
  for (const auto row : *rows) {
    results.push_back({.id = id_from<CommandId>(row.text(0)),
                       .saga = id_from<SagaId>(row.text(1)),
                       .applied = row.boolean(2),
                       .reason = std::string(row.text(3)),
                       .at = row.time(4)});
  }
  return results;
}

Call SagaStore::hold_call(const spi::SagaBatch& batch) const {
  std::vector<std::int64_t> shards, epochs;
  for (const auto& fence : batch.fencing.fences) {
    shards.push_back(fence.shard.value);
    epochs.push_back(static_cast<std::int64_t>(fence.epoch.value));
  }
  return {&statements_.hold,
          {batch.fencing.scope, batch.fencing.owner.view(), std::move(shards), std::move(epochs)}};
}

std::vector<Call> SagaStore::look_calls(const spi::SagaBatch& batch) const {
  std::vector<std::string> ids, tenants, keys;
  for (const auto& write : batch.writes) {
    ids.push_back(write.record.id.str());
    if (!spi::holds_isolation(write.record)) continue;
    tenants.push_back(write.record.tenant);
    keys.push_back(write.record.isolate);
  }
  std::vector<Call> calls{hold_call(batch)};
  if (!ids.empty()) calls.push_back({&statements_.versions, {std::move(ids)}});
  if (!keys.empty()) {
    const auto count = keys.size();
    calls.push_back({&statements_.holders,
                     {batch.definition, std::move(tenants), std::move(keys), by_element(count)}});
  }
  return calls;
}

SagaStore::Look SagaStore::held_from(const spi::SagaBatch& batch, const Rows& answer) {
  Look look;
  for (const auto& fence : batch.fencing.fences) {
    const bool held = std::ranges::any_of(
        answer, [&](const Row row) { return row.integer(0) == fence.shard.value; });
    look.reply.held.push_back(held);
  }
  return look;
}

SagaStore::Look SagaStore::look_from(const spi::SagaBatch& batch, std::span<const Rows> answers) {
  auto look = held_from(batch, answers[0]);
  if (!look.reply.written() || batch.writes.empty()) return look;
  for (const auto row : answers[1]) {
    look.stored.versions.emplace(id_from<SagaId>(row.text(0)), row.natural(1));
  }
  const bool isolates = std::ranges::any_of(
      batch.writes, [](const spi::SagaWrite& w) { return spi::holds_isolation(w.record); });
  if (isolates) {
    for (const auto row : answers[2]) {
      look.stored.holders.emplace(std::pair(std::string(row.text(0)), std::string(row.text(1))),
                                  id_from<SagaId>(row.text(2)));
    }
  }
  spi::find_conflicts(batch, look.stored, look.reply);
  return look;
}

std::vector<Call> SagaStore::write_calls(const spi::SagaBatch& batch) const {
  std::vector<Call> calls;
  const auto add = [&](const Statement& statement, std::optional<Values> values) {
    if (values) calls.push_back({&statement, *std::move(values)});
  };
  if (!batch.writes.empty()) {
    add(statements_.write, values_of_writes(batch.definition, batch.writes));
  }
  add(statements_.add_history, values_of_history(batch.writes));
  add(statements_.cut_history, values_of_cuts(batch.writes));
  add(statements_.add_labels, values_of_labels(batch.writes));
  if (!batch.taken.empty()) add(statements_.take, values_of_taken(batch.definition, batch.taken));
  if (!batch.results.empty()) add(statements_.add_results, values_of_results(batch.results));
  return calls;
}

Result<std::set<CommandId>> SagaStore::results_in(Session& session,
                                                  const spi::SagaBatch& batch) const {
  std::set<CommandId> known;
  std::vector<std::string> ids;
  for (const auto& result : batch.results) ids.push_back(result.id.str());
  if (ids.empty()) return known;
  auto rows = session.run(statements_.results, {std::move(ids)});
  if (!rows.ok()) return rows.error();
  for (const auto row : *rows) known.insert(id_from<CommandId>(row.text(0)));
  return known;
}

// Everything is sent at once, and undone in the rare case that a fence does not hold or a version
// is not the one before: a batch costs one round trip beside its COMMIT.
Result<SagaStore::Look> SagaStore::write_in(Session& session, const spi::SagaBatch& batch,
                                            Try& tried) const {
  std::set<CommandId> known_results;
  if (spi::is_known_by_results(batch)) {
    auto known = results_in(session, batch);
    if (!known.ok()) return known.error();
    known_results = std::move(known).value();
  }
  auto calls = tried.looks ? look_calls(batch) : std::vector<Call>{hold_call(batch)};
  const auto looks = calls.size();
  for (auto& call : write_calls(batch)) calls.push_back(std::move(call));
  auto answers = session.run(calls);
  if (!answers.ok()) return answers.error();
  auto look = tried.looks ? look_from(batch, std::span(*answers).first(looks))
                          : held_from(batch, answers->front());
  look.reply.timeline = session.timeline();
  look.stored.results = std::move(known_results);
  if (!look.reply.written() || batch.writes.empty()) return look;
  // Without a look, `stored` is empty: all of them have to be written.
  const auto to_write = std::ranges::count_if(batch.writes, [&](const spi::SagaWrite& write) {
    const auto stored = look.stored.versions.find(write.record.id);
    return stored == look.stored.versions.end() || stored->second != write.record.version;
  });
  tried.complete = std::cmp_equal((*answers)[looks].size(), to_write);
  return look;
}

Result<SagaStore::Look> SagaStore::write_plain(const spi::SagaBatch& batch, Try& tried) {
  auto session = parts_.sessions.begin();
  if (!session.ok()) return session.error();
  auto look = write_in(**session, batch, tried);
  if (look.ok() && look->reply.written() && tried.complete && !batch.audit.empty() &&
      !spi::is_repeated(batch, look->stored)) {
    auto head = parts_.audit.append(**session, batch.audit);
    if (!head.ok()) look = head.error();
  }
  if (!look.ok() || !look->reply.written() || !tried.complete) {
    (void)(*session)->rollback();
    return look;
  }
  if (auto committed = (*session)->commit(); !committed.ok()) return committed.error();
  return look;
}

Result<SagaStore::Look> SagaStore::write_with_messages(const spi::SagaBatch& batch, Try& tried) {
  auto tx = parts_.begin();
  if (!tx.ok()) return tx.error();
  auto session = parts_.session_of(**tx);
  if (!session.ok()) return session.error();
  auto look = write_in(**session, batch, tried);
  if (look.ok() && look->reply.written() && tried.complete &&
      !spi::is_repeated(batch, look->stored)) {
    if (auto written = insert_messages_of(**tx, batch.messages); !written.ok()) {
      look = written.error();
    } else if (!batch.audit.empty()) {
      auto head = parts_.audit.append(**session, batch.audit);
      if (!head.ok()) look = head.error();
    }
  }
  session->reset();
  if (!look.ok() || !look->reply.written() || !tried.complete) {
    (void)(*tx)->rollback();
    return look;
  }
  if (auto committed = (*tx)->commit(); !committed.ok()) return committed.error();
  return look;
}

Result<SagaStore::Look> SagaStore::look(const spi::SagaBatch& batch) {
  const auto calls = look_calls(batch);
  return in_transaction(parts_.sessions, [&](Session& session) -> Result<Look> {
    auto answers = session.run(calls);
    if (!answers.ok()) return answers.error();
    auto look = look_from(batch, *answers);
    look.reply.timeline = session.timeline();
    return look;
  });
}

Result<spi::SagaBatchReply> SagaStore::write(const spi::SagaBatch& batch) {
  if (auto valid = spi::check_batch(batch); !valid.ok()) return valid.error();
  for (int tries = 1;; ++tries) {
    Try tried{.looks = tries > 1};
    auto written =
        batch.messages.empty() ? write_plain(batch, tried) : write_with_messages(batch, tried);
    if (written.ok() && tried.complete) return std::move(written->reply);
    const auto code = written.ok() ? Code::storage_conflict : written.error().code;
    const bool met = code == Code::storage_conflict;
    // The unique index on isolation keys speaks for all of the batch, without saying of whom.
    if (met || code == Code::schema_validation_failed) {
      auto found = look(batch);
      if (found.ok() && !found->reply.written()) return std::move(found->reply);
    }
    if (!met || tries == write_tries_max) {
      if (!written.ok()) return written.error();
      return Error{Code::storage_conflict, "sagas of the batch changed at every try; try again"};
    }
  }
}

}  // namespace sagabox::sql
