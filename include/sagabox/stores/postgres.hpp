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

struct pg_conn;  // libpq's, so that its header is not needed here
using PGconn = pg_conn;

namespace sagabox::sql {
class Session;
}

/// PostgreSQL 13 and newer, through libpq.
namespace sagabox::postgres {

inline constexpr std::string_view schema_default = "sagabox";

struct Options {
  /// The schema of our tables: letters, digits and _.
  std::string schema{schema_default};
  /// The number of shards of every outbox; existing outboxes must have been created with the same
  /// number.
  std::uint16_t shards = 16;

  /// The most concurrent transactions of `begin()`; those on borrowed connections do not count.
  /// Guards, if used, have the same number of additional connections.
  std::uint32_t writers_max = 8;
  /// Connections that relays and operators share. Leases use one additional connection, and owners
  /// of sagas, if there are any, the same number of additional ones.
  std::uint32_t relay_connections_max = 4;
  /// Commits wake sleeping relays. This needs one additional connection for LISTEN, for all
  /// outboxes. Disable it behind a pooler in transaction mode, where only polling works.
  bool notify = true;
  /// After this many settled messages a relay vacuums its outbox, at most every 5 s, over one or
  /// two additional connections; only if its user owns the tables and there is no pooler.
  /// Autovacuum, which runs once a minute, stays active. 0: never.
  std::uint64_t vacuum_after = 100'000;
  /// ClaimMode::competing: messages of others that a relay claims at once in a priority.
  std::uint32_t claim_rows_max = 50;
  /// How long to wait for one of these that is in use.
  Duration connection_wait_max = std::chrono::seconds(5);

  Duration connect_max = std::chrono::seconds(5);
  /// Longer statements are cancelled.
  Duration statement_max = std::chrono::seconds(30);
  /// Longer waits for a row lock of another transaction return STORAGE.CONFLICT.
  Duration lock_max = std::chrono::seconds(5);

  /// Set it if connections go through a pooler in transaction mode (pgbouncer): no session state is
  /// used, no statement is prepared, and every transaction sets its own limits. Detected
  /// automatically if the pooler hides the server's process ids, as pgbouncer does.
  bool pooled = false;

  const Clock* clock =
      &system_clock();  ///< for local waits; stored times are of the database's clock
};

/// `url`: `postgres://user@host:5432/database?sslmode=verify-full`, or libpq's key=value pairs.
/// Connects, so that errors are found here. `OutboxStore::prepare` creates the tables.
Result<std::unique_ptr<Store>> open(const std::string& url, const Options& options = {});
/// Opens the database of this connection with its user, over separate connections; only the
/// parameters of this connection are read.
Result<std::unique_ptr<Store>> open(PGconn* connection, const Options& options = {});

/// Writes into the open transaction of a connection that you own; never begins, commits or rolls
/// back. Call `committed()` after your COMMIT to use the fast path. Valid for that transaction
/// only. The connection outlives it.
class Enlisted final : public Transaction, private OutboxWriter {
 public:
  Enlisted(Enlisted&&) noexcept;
  ~Enlisted() override;
  [[nodiscard]] bool is_open() const override;
  /// Duplicates are detected by ids that this transaction can see: under REPEATABLE READ, a message
  /// that was delivered after its first statement is not detected.
  OutboxWriter& outbox() override { return *this; }
  Inbox& inbox() override;
  SagaInbox& sagas() override;
  EventWriter& events() override;

 private:
  friend Result<Enlisted> enlist(PGconn* connection, std::string_view schema);
  friend Result<std::unique_ptr<sql::Session>> session_of(Transaction& transaction);
  Result<std::vector<Written>> insert(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) override;
  Result<std::vector<Written>> insert_blind(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) override;
  Result<std::vector<Written>> insert(const TableName& table,
                                      std::span<const std::shared_ptr<const Message>> messages,
                                      bool told);
  struct Borrowed;
  explicit Enlisted(std::unique_ptr<Borrowed> borrowed);
  std::unique_ptr<Borrowed> borrowed_;
};

/// TX.NO_TRANSACTION if no transaction is open.
Result<Enlisted> enlist(PGconn* connection, std::string_view schema = schema_default);

/// The connection of a transaction from `begin()` of a PostgreSQL store, to write business rows;
/// null for any other. Neither commit nor close it.
PGconn* connection_of(Transaction& transaction) noexcept;

/// The tables in `options.schema` of a database. Does not connect yet. `options.shards` is for
/// outboxes that `up` creates.
Result<std::unique_ptr<spi::SchemaStore>> open_schema(const std::string& url,
                                                      const Options& options = {});

}  // namespace sagabox::postgres
