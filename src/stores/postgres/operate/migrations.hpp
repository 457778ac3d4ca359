#pragma once

#include "stores/postgres/driver/connection.hpp"
#include "stores/postgres/driver/names.hpp"
#include "stores/postgres/operate/schema.hpp"
#include "stores/sql/migrator.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::postgres {

/// The SQL of a step as it is in schema `sagabox` for an outbox `orders` of 16 shards. Checksums
/// are computed over this text.
std::string reference_sql(std::string_view sql);

/// Makes and removes the tables of a schema. Every change is one transaction under one lock, so
/// that two processes may run it at once.
class Migrations : private sql::SchemaDialect {
 public:
  /// `shards` is the number for new outboxes.
  Migrations(sql::Sections& sections, Names names, ConnectSettings settings, std::uint16_t shards,
             std::span<const Engine> engines = postgres::engines());

  /// Makes the tables of the engine "outbox", and this outbox. It looks first, and needs no right
  /// to make tables if everything exists. CONFIG.INVALID if the outbox was made with another number
  /// of shards.
  Status prepare(const TableName& table);
  /// Makes this engine, for the outboxes that exist. It also looks first.
  Status prepare(std::string_view engine);
  Status up(const spi::SchemaUp& request);
  Status down(const spi::SchemaDown& request);
  Result<std::vector<spi::SchemaStep>> status();
  /// Changes the number of shards to the one given to the constructor.
  Result<spi::ReshardReport> reshard(const spi::ReshardRequest& request);

 private:
  [[nodiscard]] std::string fill(std::string_view sql, const std::string& outbox) const override;
  Status removed_all(sql::Session& session) const override;

  Result<std::unique_ptr<Connection>> connect() const;
  /// A transaction under the schema lock. The connection outlives it.
  Result<std::unique_ptr<sql::SchemaSession>> begin(Connection& connection) const;
  Status check_shards(Connection& connection, const TableName& table);
  /// Sets `met` if a deadlock with a relay ended it; another attempt may succeed.
  Result<spi::ReshardReport> reshard_once(const spi::ReshardRequest& request, bool& met);
  Status lock_owners(Connection& connection, const TableName& table, std::uint16_t shards);
  /// Reports what a reshard would change.
  Result<spi::ReshardReport> look_at_shards(Connection& connection, const TableName& table);
  /// The shard count of this outbox, or of all.
  Result<std::map<std::string, std::uint16_t>> shard_counts(
      Connection& connection, const std::optional<std::string>& outbox);

  const Names names_;
  const ConnectSettings settings_;
  const std::uint16_t shards_;
  const sql::Migrator migrator_;
  const sql::Statement lock_;
  const sql::Statement drop_schema_;
  const sql::Statement counts_;
};

}  // namespace sagabox::postgres
