#include "stores/memory/database.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace sagabox::memory {
namespace {

constexpr std::array<std::string_view, operation_count> operation_names{
    "begin",
    "insert",
    "commit",
    "read",
    "read_due",
    "read_retrying_keys",
    "settle",
    "join",
    "renew",
    "census",
    "take",
    "release",
    "withdraw",
    "leave",
    "look",
    "move",
    "purge",
    "controls",
    "set_pause",
    "create_job",
    "change_job",
    "advance_job",
    "audit",
    "idempotency check",
    "idempotency finish",
    "idempotency renew",
    "idempotency look",
    "idempotency purge",
    "inbox",
    "saga define",
    "saga append",
    "saga read",
    "saga load",
    "saga write",
    "saga look",
    "saga purge",
    "hub publish",
    "hub read",
    "hub move",
    "hub add",
    "hub look",
    "hub begin",
    "hub change",
    "hub bury",
    "hub make_jobs",
    "hub seen",
    "hub disable",
    "hub lease",
    "hub finish",
    "hub reset",
    "hub subscribe",
    "hub inspect",
    "hub requeue",
    "hub purge",
};

std::string name_of(Operation operation) {
  return std::string(operation_names[static_cast<std::size_t>(operation)]);
}

Error aborted() {
  return {Code::storage_unavailable,
          "the transaction was aborted by a fail-over; roll back and begin again"};
}

template <class Ranges>
std::size_t expected_rows(const Ranges& ranges) {
  constexpr std::size_t reserve_max = 1024;
  std::size_t rows = 0;
  for (const auto& range : ranges) rows += range.rows_max;
  return std::min(rows, reserve_max);
}

}  // namespace

CommittedState CommittedState::copy() const {
  CommittedState copy;
  for (const auto& [name, table] : tables) copy.tables.emplace(name, table->committed_copy());
  copy.ownership = ownership;
  copy.controls = controls;
  copy.audit = audit;
  copy.idempotency = idempotency;
  copy.inbox = inbox;
  copy.sagas = sagas;
  copy.hub = hub;
  copy.business = business;
  copy.next_transaction = next_transaction;
  copy.next_command = next_command;
  return copy;
}

Database::Database(Options options)
    : options_(std::move(options)), idempotency_(*this), inbox_(*this), sagas_(*this) {
  if (options_.faults) set_faults(options_.faults);
}

spi::Capabilities Database::capabilities() const {
  return {.late_commits = options_.late_commits,
          .late_window = options_.late_window,
          .notifies = options_.notifies,
          .shards = options_.shards};
}

Status Database::prepare(const TableName& table) {
  const std::lock_guard lock(mutex_);
  auto& place = state_.tables[table.str()];
  if (!place) place = std::make_unique<Table>(options_.shards);
  return {};
}

Table* Database::find(const TableName& table) const {
  const auto known = state_.tables.find(table.str());
  return known == state_.tables.end() ? nullptr : known->second.get();
}

Error Database::no_table(const TableName& table) {
  return {Code::config_invalid,
          "there is no outbox table \"" + table.str() + "\"; call prepare() for it first"};
}

Result<spi::ReadReply> Database::read(const TableName& table, std::span<const spi::Range> ranges,
                                      std::size_t bytes_max) {
  return faulty(Operation::read, [&]() -> Result<spi::ReadReply> {
    spi::ReadReply reply;
    reply.rows.reserve(expected_rows(ranges));
    reply.parts.reserve(ranges.size());
    ReadBudget budget(bytes_max);
    const std::lock_guard lock(mutex_);
    const Table* rows = find(table);
    if (rows == nullptr) return no_table(table);
    for (const auto& range : ranges) {
      reply.parts.push_back(rows->read(range, budget, reply.rows));
      if (budget.spent()) break;
    }
    reply.horizon = horizon();
    reply.timeline = timeline_;
    return reply;
  });
}

std::optional<spi::Horizon> Database::horizon() const {
  if (options_.late_commits != spi::LateCommits::visible) return std::nullopt;
  spi::Horizon horizon;
  horizon.in_progress.reserve(open_.size());
  for (const auto& open : open_) horizon.in_progress.push_back(open->id);
  horizon.next = state_.next_transaction;
  return horizon;
}

Result<spi::ReadReply> Database::read_due(const TableName& table,
                                          std::span<const spi::DueRange> ranges,
                                          std::size_t bytes_max) {
  return faulty(Operation::read_due, [&]() -> Result<spi::ReadReply> {
    spi::ReadReply reply;
    ReadBudget budget(bytes_max);
    const std::lock_guard lock(mutex_);
    const Table* rows = find(table);
    if (rows == nullptr) return no_table(table);
    const WallTime at = now();
    for (const auto& range : ranges) {
      reply.parts.push_back(rows->read_due(range, at, budget, reply.rows));
      if (budget.spent()) break;
    }
    reply.timeline = timeline_;
    return reply;
  });
}

Result<spi::RetryingKeysReply> Database::read_retrying_keys(const TableName& table, Shard shard,
                                                            Sequence after_sequence,
                                                            std::uint32_t rows_max) {
  return faulty(Operation::read_retrying_keys, [&]() -> Result<spi::RetryingKeysReply> {
    const std::lock_guard lock(mutex_);
    const Table* rows = find(table);
    if (rows == nullptr) return no_table(table);
    auto reply = rows->read_retrying_keys(shard, after_sequence, rows_max);
    reply.timeline = timeline_;
    return reply;
  });
}

Result<spi::SettleReply> Database::settle(const spi::SettleRequest& request) {
  return faulty(Operation::settle, [&]() -> Result<spi::SettleReply> {
    spi::SettleReply reply;
    const auto fences = request.fencing.fences;
    reply.parts.resize(fences.size());
    constexpr std::size_t no_part = SIZE_MAX;
    std::vector<std::size_t> part_of(options_.shards, no_part);
    Table::Released released;  // freed after the lock is released
    released.reserve(request.items.size());

    const std::lock_guard lock(mutex_);
    Table* rows = find(request.table);
    if (rows == nullptr) return no_table(request.table);
    const auto owners = state_.ownership.owners(request.fencing.scope);
    for (std::size_t i = 0; i < fences.size(); ++i) {
      const auto& fence = fences[i];
      if (fence.shard.value >= owners.size() || fence.shard.value >= part_of.size()) continue;
      const auto& shard = owners[fence.shard.value];
      if (shard.owner != request.fencing.owner || shard.epoch != fence.epoch) continue;
      reply.parts[i].held = true;
      part_of[fence.shard.value] = i;
    }
    const WallTime at = now();
    for (const auto& item : request.items) {
      if (item.shard.value >= part_of.size() || part_of[item.shard.value] == no_part) continue;
      if (rows->settle(item, at, request.retain_done, released)) {
        ++reply.parts[part_of[item.shard.value]].rows;
        if (item.verdict == spi::Verdict::dead) {
          audit_death(request.table, *rows->row(item.sequence), at);
        }
      }
    }
    reply.timeline = timeline_;
    return reply;
  });
}

CommitSignal& Database::signal(std::string_view table) {
  const std::lock_guard lock(signals_mutex_);
  auto known = signals_.find(table);
  if (known == signals_.end()) {
    known = signals_.emplace(std::string(table), std::make_unique<CommitSignal>()).first;
  }
  return *known->second;
}

void Database::wait(const TableName& table, Duration timeout) { signal(table.str()).wait(timeout); }

void Database::wake(const TableName& table) { signal(table.str()).notify(); }

void Database::set_faults(FaultPlan faults) {
  auto plan = faults ? std::make_shared<const FaultPlan>(std::move(faults)) : nullptr;
  const std::lock_guard lock(faults_mutex_);
  has_faults_ = plan != nullptr;
  faults_ = std::move(plan);
}

Fault Database::fault(Operation operation) const {
  if (!has_faults_) return Fault::none;
  std::shared_ptr<const FaultPlan> plan;
  {
    const std::lock_guard lock(faults_mutex_);
    plan = faults_;
  }
  return plan ? (*plan)(operation) : Fault::none;
}

Error Database::refused(Operation operation) {
  return {Code::storage_unavailable,
          "the database refused " + name_of(operation) + "; nothing happened, try again"};
}

Error Database::lost(Operation operation) {
  return {Code::storage_in_doubt,
          "the reply to " + name_of(operation) + " was lost; it may or may not have happened"};
}

std::shared_ptr<OpenTransaction> Database::begin_transaction() {
  auto transaction = std::make_shared<OpenTransaction>();
  const std::lock_guard lock(mutex_);
  transaction->id = TransactionId{state_.next_transaction.value++};
  open_.push_back(transaction);
  return transaction;
}

void Database::end(const std::shared_ptr<OpenTransaction>& transaction) {
  std::erase(open_, transaction);
  if (writer_ == transaction.get()) writer_ = nullptr;
}

bool Database::commit(const std::shared_ptr<OpenTransaction>& transaction) {
  {
    const std::lock_guard lock(mutex_);
    if (transaction->aborted) return false;
    for (const auto& insert : transaction->inserts) insert.table->publish(insert.drawn);
    for (const auto& insert : transaction->inserts) insert.table->publish_done();
    for (auto& [table, rows] : transaction->puts) {
      auto& committed = state_.business[table];
      for (auto& [key, value] : rows) committed.insert_or_assign(key, std::move(value));
    }
    state_.inbox.add(std::move(transaction->inbox));
    for (const auto& command : transaction->commands) state_.sagas.publish(command);
    for (const auto& event : transaction->events) state_.hub.events.put(event);
    end(transaction);
  }
  if (options_.notifies) {
    const CommitSignal* last = nullptr;
    for (const auto& insert : transaction->inserts) {
      if (insert.signal != last) insert.signal->notify();
      last = insert.signal;
    }
    ring_commands(*transaction);
    if (!transaction->events.empty()) signal(hub_events_signal).notify();
  }
  return true;
}

void Database::ring_commands(const OpenTransaction& transaction) {
  std::string_view last;
  for (const auto& command : transaction.commands) {
    if (command.definition != last) signal(Sagas::signal_name(command.definition)).notify();
    last = command.definition;
  }
}

void Database::notify_if_told(std::string_view signal_name) {
  if (options_.notifies) signal(signal_name).notify();
}

std::vector<bool> Database::held(const spi::Fencing& fencing) const {
  std::vector<bool> held;
  const auto owners = state_.ownership.owners(fencing.scope);
  for (const auto& fence : fencing.fences) {
    const auto place = std::size_t{fence.shard.value};
    held.push_back(place < owners.size() && owners[place].owner == fencing.owner &&
                   owners[place].epoch == fence.epoch);
  }
  return held;
}

void Database::roll_back(const std::shared_ptr<OpenTransaction>& transaction) {
  const std::lock_guard lock(mutex_);
  if (transaction->aborted) return;
  for (const auto& insert : transaction->inserts) insert.table->discard(insert.drawn);
  end(transaction);
}

std::optional<Error> Database::other_writer(const OpenTransaction* me) const {
  if (writer_ == nullptr || writer_ == me) return std::nullopt;
  return Error{Code::storage_conflict,
               "another open transaction has written messages and this store has one writer at a "
               "time; roll back and try again when that one has ended"};
}

Result<std::vector<Written>> Database::insert(
    OpenTransaction& transaction, const TableName& table,
    std::span<const std::shared_ptr<const Message>> messages) {
  CommitSignal& rung = signal(table.str());
  const std::lock_guard lock(mutex_);
  if (transaction.aborted) return aborted();
  Table* rows = find(table);
  if (rows == nullptr) return no_table(table);
  if (auto busy = other_writer(&transaction)) return *std::move(busy);
  if (options_.late_commits == spi::LateCommits::none) writer_ = &transaction;
  Drawn drawn;
  auto written = rows->insert(transaction.id, messages, now(), drawn);
  if (drawn.count == 0) return written;
  auto& inserts = transaction.inserts;
  if (!inserts.empty() && inserts.back().table == rows &&
      inserts.back().drawn.first.value + inserts.back().drawn.count == drawn.first.value) {
    inserts.back().drawn.count += drawn.count;
  } else {
    inserts.push_back({rows, &rung, drawn});
  }
  return written;
}

Status Database::put(OpenTransaction& transaction, std::string_view table, std::string key,
                     std::string value) {
  const std::lock_guard lock(mutex_);
  if (transaction.aborted) return aborted();
  transaction.puts[std::string(table)].insert_or_assign(std::move(key), std::move(value));
  return {};
}

Result<std::optional<std::string>> Database::get(const OpenTransaction* transaction,
                                                 std::string_view table,
                                                 std::string_view key) const {
  const auto look = [&](const BusinessRows& rows) -> std::optional<std::string> {
    const auto in = rows.find(table);
    if (in == rows.end()) return std::nullopt;
    const auto row = in->second.find(key);
    if (row == in->second.end()) return std::nullopt;
    return row->second;
  };
  const std::lock_guard lock(mutex_);
  if (transaction != nullptr) {
    if (transaction->aborted) return aborted();
    if (auto own = look(transaction->puts)) return own;
  }
  return look(state_.business);
}

std::uint64_t Database::count(std::string_view table) const {
  const std::lock_guard lock(mutex_);
  const auto in = state_.business.find(table);
  return in == state_.business.end() ? 0 : in->second.size();
}

Status Database::corrupt(const TableName& table, Sequence sequence) {
  const std::lock_guard lock(mutex_);
  Table* rows = find(table);
  if (rows == nullptr) return no_table(table);
  if (rows->corrupt(sequence)) return {};
  return Error{Code::config_invalid, "table \"" + table.str() + "\" has no committed row " +
                                         std::to_string(sequence.value)};
}

void Database::checkpoint() {
  const std::lock_guard lock(mutex_);
  checkpoint_ = state_.copy();
}

bool Database::fail_over() {
  {
    const std::lock_guard lock(mutex_);
    if (!checkpoint_) return false;
    auto restored = checkpoint_->copy();
    // A fail-over loses commits, not the schema: tables made since the checkpoint exist, and are
    // empty.
    for (const auto& [name, table] : state_.tables) {
      auto& place = restored.tables[name];
      if (!place) place = std::make_unique<Table>(options_.shards);
    }
    for (const auto& open : open_) open->aborted = true;
    open_.clear();
    writer_ = nullptr;
    state_ = std::move(restored);
    ++timeline_.value;
  }
  const std::lock_guard lock(signals_mutex_);
  for (const auto& [name, signal] : signals_) signal->notify();
  return true;
}

std::vector<Inspected> Database::inspect(const TableName& table) const {
  const std::lock_guard lock(mutex_);
  const Table* rows = find(table);
  return rows == nullptr ? std::vector<Inspected>{} : rows->inspect();
}

}  // namespace sagabox::memory
