#include "stores/sqlite/acquaintance.hpp"
#include "stores/sqlite/insert.hpp"

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

/// Another one after each commit of this connection. (Not after a rollback: SQLite does not tell.)
std::uint32_t version_of(sqlite3* connection) {
  std::uint32_t version = 0;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_DATA_VERSION, &version);
  return version;
}

}  // namespace

struct Enlisted::Borrowed {
  std::shared_ptr<Acquaintance> acquaintance;
  /// Once the transaction has looked at the file: from then on it changes only with a commit.
  std::optional<std::uint32_t> version;

  [[nodiscard]] Link& link() const noexcept { return acquaintance->link; }
};

Enlisted::Enlisted(std::unique_ptr<Borrowed> borrowed) : borrowed_(std::move(borrowed)) {}
Enlisted::Enlisted(Enlisted&&) noexcept = default;
Enlisted::~Enlisted() = default;

bool Enlisted::is_open() const {
  if (borrowed_ == nullptr || !borrowed_->link().in_transaction()) return false;
  return !borrowed_->version || *borrowed_->version == version_of(borrowed_->link().handle());
}

Result<std::vector<Written>> Enlisted::insert(
    const TableName& table, std::span<const std::shared_ptr<const Message>> messages) {
  if (!is_open()) return no_transaction();
  auto& [acquaintance, version] = *borrowed_;
  auto& link = borrowed_->link();
  const auto& of_table = acquaintance->statements.try_emplace(table, table).first->second;
  auto written = insert_messages(link, of_table, messages, system_clock().wall_now());
  if (!written.ok()) return written;
  version = version_of(link.handle());
  // SQLite does not say whether a savepoint is open, nor when the caller's COMMIT is on the disk:
  // the read finds out.
  for (auto& message : *written) message.in_savepoint = !message.duplicate;
  return written;
}

Result<Enlisted> enlist(sqlite3* connection) {
  if (connection == nullptr) {
    return Error{Code::storage_unavailable,
                 "enlist() needs a connection that is open; open one, and call BEGIN IMMEDIATE"};
  }
  if (sqlite3_get_autocommit(connection) != 0) return no_transaction();
  auto acquaintance = acquaintance_of(connection);
  if (!acquaintance.ok()) return acquaintance.error();
  auto borrowed = std::make_unique<Enlisted::Borrowed>();
  borrowed->acquaintance = std::move(*acquaintance);
  if (sqlite3_txn_state(connection, "main") != SQLITE_TXN_NONE) {
    borrowed->version = version_of(connection);
  }
  return Enlisted(std::move(borrowed));
}

}  // namespace sagabox::sqlite
