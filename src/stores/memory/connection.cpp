#include "stores/memory/connection.hpp"

#include <utility>

namespace sagabox::memory {
namespace {

Error no_transaction(std::string_view call) {
  return {Code::tx_no_transaction,
          std::string(call) + " needs an open transaction on this connection; call begin() first"};
}

}  // namespace

Connection::Session::~Session() {
  if (transaction) database->roll_back(transaction);
}

Connection::Connection(std::shared_ptr<Database> database)
    : session_(std::make_unique<Session>(std::move(database))) {}

Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Status Connection::begin() {
  if (in_transaction()) {
    return Error{Code::tx_invalid_state,
                 "this connection is in a transaction already; commit or roll back first"};
  }
  return session_->database->faulty(Operation::begin, [&]() -> Status {
    session_->transaction = session_->database->begin_transaction();
    ++session_->begun;
    return {};
  });
}

Status Connection::commit() {
  if (!in_transaction()) return no_transaction("commit()");
  Database& database = *session_->database;
  const Fault wrong = database.fault(Operation::commit);
  if (wrong == Fault::refused) return Database::refused(Operation::commit);
  const auto transaction = std::exchange(session_->transaction, nullptr);
  if (wrong == Fault::lost_before) {
    database.roll_back(transaction);
    return Database::lost(Operation::commit);
  }
  if (!database.commit(transaction) || wrong == Fault::lost_after) {
    return Database::lost(Operation::commit);
  }
  return {};
}

Status Connection::rollback() {
  if (!in_transaction()) return no_transaction("rollback()");
  session_->database->roll_back(std::exchange(session_->transaction, nullptr));
  return {};
}

bool Connection::in_transaction() const {
  return session_ != nullptr && session_->transaction != nullptr;
}

std::optional<TransactionId> Connection::transaction_id() const {
  if (!in_transaction()) return std::nullopt;
  return session_->transaction->id;
}

Status Connection::put(std::string_view table, std::string key, std::string value) {
  if (!in_transaction()) return no_transaction("put()");
  return session_->database->put(*session_->transaction, table, std::move(key), std::move(value));
}

Result<std::optional<std::string>> Connection::get(std::string_view table,
                                                   std::string_view key) const {
  return session_->database->get(session_->transaction.get(), table, key);
}

Enlisted::Enlisted(Connection& connection)
    : connection_(&connection), begun_(connection.session_ ? connection.session_->begun : 0) {}

bool Enlisted::is_open() const {
  return connection_->in_transaction() && connection_->session_->begun == begun_;
}

Result<std::vector<Written>> Enlisted::insert(
    const TableName& table, std::span<const std::shared_ptr<const Message>> messages) {
  if (!is_open()) return no_transaction("write()");
  auto& session = *connection_->session_;
  return session.database->faulty(Operation::insert, [&] {
    return session.database->insert(*session.transaction, table, messages);
  });
}

Result<bool> Enlisted::first_time(const IdempotencyKey& key) {
  if (!is_open()) return no_transaction("first_time()");
  auto& session = *connection_->session_;
  return session.database->inbox().first_time(*session.transaction, key);
}

Result<BarrierAnswer> Enlisted::barrier(const BarrierCall& call) {
  if (!is_open()) return no_transaction("barrier()");
  auto& session = *connection_->session_;
  return session.database->inbox().barrier(*session.transaction, call);
}

Status Enlisted::append(std::span<const SagaCommand> commands) {
  if (!is_open()) return no_transaction("append()");
  auto& session = *connection_->session_;
  return session.database->sagas().append(*session.transaction, commands);
}

Result<std::vector<Published>> Enlisted::publish(std::span<const HubEvent> events) {
  if (!is_open()) return no_transaction("publish()");
  auto& session = *connection_->session_;
  return session.database->hub_events().publish(*session.transaction, events);
}

Result<Enlisted> enlist(Connection& connection) {
  if (!connection.in_transaction()) return no_transaction("enlist()");
  return Enlisted(connection);
}

}  // namespace sagabox::memory
