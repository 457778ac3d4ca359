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

/// SQL of a step as it is in schema `sagabox` for an outbox `orders` of 16 shards: what checksums
/// are taken of.
std::string reference_sql(std::string_view sql);

/// Makes and removes the tables of a schema. Every change is one transaction under one lock, so
/// that two may run at once.
class Migrations : private sql::SchemaDialect {
 public:
  /// `shards`: of outboxes that are made.
  Migrations(sql::Sections& sections, Names names, ConnectSettings settings, std::uint16_t shards,
             std::span<const Engine> engines = postgres::engines());

  /// The engine "outbox", and this outbox. Looks first, and needs no right to make tables when
  /// everything is there. CONFIG.INVALID when it was made with another count of shards.
  Status prepare(const TableName& table);
  /// This engine, with the outboxes that it has. Looks first as well.
  Status prepare(std::string_view engine);
  Status up(const spi::SchemaUp& request);
  Status down(const spi::SchemaDown& request);
  Result<std::vector<spi::SchemaStep>> status();
  /// To the count that these migrations were made with.
  Result<spi::ReshardReport> reshard(const spi::ReshardRequest& request);

 private:
  [[nodiscard]] std::string fill(std::string_view sql, const std::string& outbox) const override;
  Status removed_all(sql::Session& session) const override;

  Result<std::unique_ptr<Connection>> connect() const;
  /// In which nobody else changes the schema. The connection outlives it.
  Result<std::unique_ptr<sql::SchemaSession>> begin(Connection& connection) const;
  Status check_shards(Connection& connection, const TableName& table);
  /// `met`: a relay was in the way, which it may not be the next time.
  Result<spi::ReshardReport> reshard_once(const spi::ReshardRequest& request, bool& met);
  Status lock_owners(Connection& connection, const TableName& table, std::uint16_t shards);
  /// What a change would meet.
  Result<spi::ReshardReport> look_at_shards(Connection& connection, const TableName& table);
  /// Of this outbox, or of all.
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
