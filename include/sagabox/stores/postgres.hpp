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
  /// Where our tables are: letters, digits and _.
  std::string schema{schema_default};
  /// Of every outbox; those that are there must have been made with the same.
  std::uint16_t shards = 16;

  /// Transactions of `begin()` at once; those of borrowed connections do not count. As many
  /// connections again serve guards, while they are used.
  std::uint32_t writers_max = 8;
  /// Connections that relays and operators share. Leases have one more of their own, and owners of
  /// sagas as many again, where there are any.
  std::uint32_t relay_connections_max = 4;
  /// Relays sleep until a commit wakes them: one more connection that listens, for all outboxes.
  /// Switch it off behind a pooler in transaction mode, where only polling works.
  bool notify = true;
  /// After so many settled messages a relay vacuums its outbox, every 5 s at most, over one or
  /// two more connections; only where its user owns the tables and no pooler stands between.
  /// Autovacuum, which looks once a minute, goes on. 0: never.
  std::uint64_t vacuum_after = 100'000;
  /// ClaimMode::competing: messages of others that a relay claims at once in a priority.
  std::uint32_t claim_rows_max = 50;
  /// How long to wait for one of these that is in use.
  Duration connection_wait_max = std::chrono::seconds(5);

  Duration connect_max = std::chrono::seconds(5);
  /// Longer statements are cancelled.
  Duration statement_max = std::chrono::seconds(30);
  /// Longer waits for another transaction's row are a STORAGE.CONFLICT.
  Duration lock_max = std::chrono::seconds(5);

  /// A pooler in transaction mode (pgbouncer) stands before the server: nothing is left to the
  /// session, no statement is prepared, and every transaction sets its own limits. Found out by
  /// itself where the pooler hides the server's process ids, as pgbouncer does.
  bool pooled = false;

  const Clock* clock = &system_clock();  ///< for our own waiting; times are the database's
};

/// `url`: `postgres://user@host:5432/database?sslmode=verify-full`, or libpq's key=value pairs.
/// Connects, so that what is wrong is found here. Tables are made by `OutboxStore::prepare`.
Result<std::unique_ptr<Store>> open(const std::string& url, const Options& options = {});
/// On the database of this connection, as its user, over connections of our own; this one is only
/// looked at.
Result<std::unique_ptr<Store>> open(PGconn* connection, const Options& options = {});

/// Writes into the open transaction of a connection that stays yours; never begins, commits or
/// rolls back. Say `committed()` after your COMMIT to use the fast path. Belongs to that one
/// transaction. The connection outlives it.
class Enlisted final : public Transaction, private OutboxWriter {
 public:
  Enlisted(Enlisted&&) noexcept;
  ~Enlisted() override;
  [[nodiscard]] bool is_open() const override;
  /// A duplicate is recognised by ids that this transaction can see: under
  /// REPEATABLE READ, one that was delivered after its first statement is not.
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

/// Error `TX.NO_TRANSACTION` unless BEGIN came first.
Result<Enlisted> enlist(PGconn* connection, std::string_view schema = schema_default);

/// The connection of a transaction that `begin()` of a PostgreSQL store made, to write business
/// rows with; null for any other. Neither commit nor close it.
PGconn* connection_of(Transaction& transaction) noexcept;

/// The tables in `options.schema` of a database. Does not connect yet. `options.shards` is for
/// outboxes that `up` makes.
Result<std::unique_ptr<spi::SchemaStore>> open_schema(const std::string& url,
                                                      const Options& options = {});

}  // namespace sagabox::postgres
