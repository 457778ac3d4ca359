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

/// SQLite 3.37 and newer: one file, no server.
namespace sagabox::sqlite {

/// The guarantee when a commit of the store returns.
enum class Durability : std::uint8_t {
  full,    ///< the data is on disk
  normal,  ///< the data survives a crash of the process, but not a power failure
};

struct Options {
  Durability durability = Durability::full;
  /// How long to wait for SQLite's write lock, in this or another process; then STORAGE.CONFLICT.
  Duration lock_max = std::chrono::seconds(5);
  /// Connections that relays and operators read with.
  std::uint32_t readers_max = 4;
  /// The write-ahead log is checkpointed long before it reaches this size, and truncated to it
  /// afterwards. It grows beyond this size while a long read transaction is open.
  std::uint64_t wal_bytes_max = 64ULL * 1024 * 1024;
  /// How often to check for commits of other processes while idle.
  Duration watch_interval = std::chrono::milliseconds(10);
  /// The name of a VFS registered with SQLite; empty: the default.
  std::string vfs{};
  const Clock* clock = &system_clock();  ///< the database's clock too: SQLite has none
};

/// Opens the file at `path` and creates it if it does not exist. Other stores may use the same
/// file, in this process and in others. `OutboxStore::prepare` creates the tables.
Result<std::unique_ptr<Store>> open(const std::string& path, const Options& options = {});
/// The same for the file of your connection; the store opens its own connections.
Result<std::unique_ptr<Store>> open(sqlite3* connection, const Options& options = {});

/// Writes into the open transaction of a connection that you own; never begins, commits or rolls
/// back. Call `committed()` after your COMMIT to use the fast path. Valid for that transaction
/// only; destroy it before you close the connection.
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

/// TX.NO_TRANSACTION if no transaction is open. Use BEGIN IMMEDIATE: after a plain BEGIN, a
/// transaction that read before another one wrote can no longer write (STORAGE.CONFLICT).
Result<Enlisted> enlist(sqlite3* connection);

/// The connection of a transaction from `begin()` of a SQLite store, to write business rows; null
/// for any other. All transactions of a store share it; use it only until this transaction ends.
/// Neither commit nor close it.
sqlite3* connection_of(Transaction& transaction) noexcept;

/// The tables of the file at `path`; `up` creates the file if it does not exist. Nothing is opened
/// yet.
Result<std::unique_ptr<spi::SchemaStore>> open_schema(const std::string& path,
                                                      const Options& options = {});

}  // namespace sagabox::sqlite
