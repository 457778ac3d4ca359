#include "stores/sqlite/connection_state.hpp"
#include "stores/sqlite/insert.hpp"
#include "stores/sqlite/session.hpp"
#include "stores/sqlite/sql_files.hpp"
#include "stores/sqlite/transaction.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <optional>
#include <string>
#include <utility>

namespace sagabox::sqlite {
namespace {

Error no_transaction() {
  return {Code::tx_no_transaction,
          "write() needs an open transaction on this connection; call BEGIN IMMEDIATE first"};
}

/// Changes after each commit of this connection. (Not after a rollback: SQLite does not report it.)
std::uint32_t version_of(sqlite3* connection) {
  std::uint32_t version = 0;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_DATA_VERSION, &version);
  return version;
}

/// The inbox statements contain no names to fill in, so they are the same for all files.
const sql::InboxStatements& inbox_statements() {
  static const auto statements = [] {
    auto sections = sql::Sections::parse(sql_files).value();
    return sql::InboxStatements(sections);
  }();
  return statements;
}

const sql::SagaInboxStatements& saga_inbox_statements() {
  static const auto statements = [] {
    auto sections = sql::Sections::parse(sql_files).value();
    return sql::SagaInboxStatements(sections);
  }();
  return statements;
}

const sql::HubPublishStatements& hub_publish_statements() {
  static const auto statements = [] {
    auto sections = sql::Sections::parse(sql_files).value();
    return sql::HubPublishStatements(sections);
  }();
  return statements;
}

}  // namespace

struct Enlisted::Borrowed {
  std::shared_ptr<ConnectionState> connection_state;
  /// Set once the transaction has read the file: from then on it changes only with a commit.
  std::optional<std::uint32_t> version;

  [[nodiscard]] Link& link() const noexcept { return connection_state->link; }
  [[nodiscard]] bool is_open() const {
    return link().in_transaction() && (!version || *version == version_of(link().handle()));
  }
  /// Called after each of our statements.
  void has_looked() { version = version_of(link().handle()); }

  Result<std::unique_ptr<sql::Session>> sql_session();
  sql::TransactionInbox inbox{inbox_statements(), &system_clock(),
                              [this] { return sql_session(); }};
  sql::TransactionSagas sagas{saga_inbox_statements(), &system_clock(),
                              [this] { return sql_session(); }};
  sql::TransactionEvents events{hub_publish_statements(), &system_clock(), shard_count,
                                [this] { return sql_session(); }};

  /// Uses the caller's transaction while that is open.
  class Session final : public sql::Session {
   public:
    explicit Session(Borrowed& borrowed) : borrowed_(borrowed) {}
    Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override {
      if (!borrowed_.is_open()) return no_transaction();
      auto answers = LinkSession(borrowed_.link(), system_clock()).run(calls);
      if (answers.ok()) borrowed_.has_looked();
      return answers;
    }
    Result<WallTime> now() override { return system_clock().wall_now(); }

   private:
    Borrowed& borrowed_;
  };
};

Result<std::unique_ptr<sql::Session>> Enlisted::Borrowed::sql_session() {
  return std::unique_ptr<sql::Session>(std::make_unique<Session>(*this));
}

namespace {

/// For connections that belong to no store: the files are parsed once in a process.
const InsertStatements& insert_statements(const TableName& table) {
  static auto sections = sql::Sections::parse(sql_files).value();
  static sql::PerTable<InsertStatements> all(sections);
  return all.of(table);
}

}  // namespace

Enlisted::Enlisted(std::unique_ptr<Borrowed> borrowed) : borrowed_(std::move(borrowed)) {}
Enlisted::Enlisted(Enlisted&&) noexcept = default;
Enlisted::~Enlisted() = default;

bool Enlisted::is_open() const { return borrowed_ != nullptr && borrowed_->is_open(); }

Inbox& Enlisted::inbox() { return borrowed_->inbox; }
SagaInbox& Enlisted::sagas() { return borrowed_->sagas; }
EventWriter& Enlisted::events() { return borrowed_->events; }

Result<std::vector<Written>> Enlisted::insert(
    const TableName& table, std::span<const std::shared_ptr<const Message>> messages) {
  if (!is_open()) return no_transaction();
  auto& link = borrowed_->link();
  const auto*& of_table = borrowed_->connection_state->statements[table];
  if (of_table == nullptr) of_table = &insert_statements(table);
  auto written = insert_messages(link, table, *of_table, messages, system_clock().wall_now());
  if (!written.ok()) return written;
  borrowed_->has_looked();
  // SQLite does not report whether a savepoint is open, nor when the caller's COMMIT is on the
  // disk: reads check both.
  for (auto& message : *written) message.in_savepoint = !message.duplicate;
  return written;
}

Result<Enlisted> enlist(sqlite3* connection) {
  if (connection == nullptr) {
    return Error{Code::storage_unavailable,
                 "enlist() needs a connection that is open; open one, and call BEGIN IMMEDIATE"};
  }
  if (sqlite3_get_autocommit(connection) != 0) return no_transaction();
  auto connection_state = connection_state_of(connection);
  if (!connection_state.ok()) return connection_state.error();
  auto borrowed = std::make_unique<Enlisted::Borrowed>();
  borrowed->connection_state = std::move(*connection_state);
  if (sqlite3_txn_state(connection, "main") != SQLITE_TXN_NONE) borrowed->has_looked();
  return Enlisted(std::move(borrowed));
}

Result<std::unique_ptr<sql::Session>> session_of(Transaction& transaction) {
  if (!transaction.is_open()) return no_transaction();
  if (auto* ours = dynamic_cast<StoreTransaction*>(&transaction)) return ours->session();
  auto* enlisted = dynamic_cast<Enlisted*>(&transaction);
  if (enlisted == nullptr) return no_transaction();
  return enlisted->borrowed_->sql_session();
}

}  // namespace sagabox::sqlite
