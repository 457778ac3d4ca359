#pragma once

#include <sagabox/spi/schema_store.hpp>
#include <sagabox/store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct sqlite3;  // SQLite's, so that its header is not needed here

namespace sagabox::sql {
class Session;
}

/// SQLite 3.37 and newer: a file, and nothing to set up.
namespace sagabox::sqlite {

/// What has happened when a commit of ours returns.
enum class Durability : std::uint8_t {
  full,    ///< it is on the disk
  normal,  ///< it survives the process, not a power cut
};

struct Options {
  Durability durability = Durability::full;
  /// How long to wait for SQLite's one write lock, here or in another process; longer is a
  /// STORAGE.CONFLICT.
  Duration lock_max = std::chrono::seconds(5);
  /// Connections that relays and operators read with.
  std::uint32_t readers_max = 4;
  /// The write-ahead log is copied into the file long before, and cut to this afterwards. It grows
  /// beyond while somebody reads without an end.
  std::uint64_t wal_bytes_max = 64ULL * 1024 * 1024;
  /// How often to look for commits of other processes while there is nothing to do.
  Duration watch_interval = std::chrono::milliseconds(10);
  /// One registered with SQLite; empty: the system's.
  std::string vfs{};
  const Clock* clock = &system_clock();  ///< the database's clock too: SQLite has none
};

/// `path` of a file, made when it is not there. Others may use the same file, in this process and
/// in others. Tables are made by `OutboxStore::prepare`.
Result<std::unique_ptr<Store>> open(const std::string& path, const Options& options = {});
/// The same for the file that a connection of yours is on; the store opens its own.
Result<std::unique_ptr<Store>> open(sqlite3* connection, const Options& options = {});

/// Writes into the open transaction of a connection that stays yours; never begins, commits or
/// rolls back. Say `committed()` after your COMMIT to use the fast path. Belongs to that one
/// transaction: destroyed before you close the connection.
class Enlisted final : public Transaction, private OutboxWriter {
 public:
  Enlisted(Enlisted&&) noexcept;
  ~Enlisted() override;
  [[nodiscard]] bool is_open() const override;
  OutboxWriter& outbox() override { return *this; }
  Inbox& inbox() override;
  SagaInbox& sagas() override;
  EventWriter& events() override;

 private:
  Result<std::vector<Written>> insert(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) override;

  friend Result<Enlisted> enlist(sqlite3* connection);
  friend Result<std::unique_ptr<sql::Session>> session_of(Transaction& transaction);
  struct Borrowed;
  explicit Enlisted(std::unique_ptr<Borrowed> borrowed);
  std::unique_ptr<Borrowed> borrowed_;
};

/// Error `TX.NO_TRANSACTION` unless BEGIN came first. Say BEGIN IMMEDIATE: a plain BEGIN that has
/// read before somebody else wrote can no longer write (STORAGE.CONFLICT).
Result<Enlisted> enlist(sqlite3* connection);

/// The connection of a transaction that `begin()` of a SQLite store made, to write business rows
/// with; null for any other. It is the same for all transactions of a store, and yours until this
/// one ends. Neither commit nor close it.
sqlite3* connection_of(Transaction& transaction) noexcept;

/// Tables of the file at `path`; `up` makes the file if it is not there. Nothing is opened yet.
Result<std::unique_ptr<spi::SchemaStore>> open_schema(const std::string& path,
                                                      const Options& options = {});

}  // namespace sagabox::sqlite
