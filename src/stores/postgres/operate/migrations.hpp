#pragma once

#include "stores/postgres/driver/connection.hpp"
#include "stores/postgres/driver/names.hpp"
#include "stores/postgres/operate/schema.hpp"

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
class Migrations {
 public:
  /// `shards`: of outboxes that are made.
  Migrations(Names names, ConnectSettings settings, std::uint16_t shards,
             std::span<const Engine> engines = postgres::engines());

  /// The engine "outbox", and this outbox. Looks first, and needs no right to make tables when
  /// everything is there. CONFIG.INVALID when it was made with another count of shards.
  Status prepare(const TableName& table);
  Status up(const spi::SchemaUp& request);
  Status down(const spi::SchemaDown& request);
  Result<std::vector<spi::SchemaStep>> status();
  /// To the count that these migrations were made with.
  Result<spi::ReshardReport> reshard(const spi::ReshardRequest& request);

 private:
  Result<std::unique_ptr<Connection>> connect() const;
  Status change(Connection& connection, const Engine& engine,
                const std::optional<TableName>& wanted);
  Status lock(Connection& connection);
  Status apply(Connection& connection, const Engine& engine, const schema::Part& part);
  Status check_shards(Connection& connection, const TableName& table);
  Status take_back(Connection& connection, const Engine& engine, const spi::SchemaDown& request);
  Status undo(Connection& connection, const Engine& engine, const schema::Part& part);
  Status check_delivered(Connection& connection, const TableName& table);
  /// After everything of this engine is gone.
  Status end(Connection& connection, const Engine& engine);
  /// `met`: a relay was in the way, which it may not be the next time.
  Result<spi::ReshardReport> reshard_once(const spi::ReshardRequest& request, bool& met);
  Status lock_owners(Connection& connection, const TableName& table, std::uint16_t shards);
  /// What a change would meet.
  Result<spi::ReshardReport> look_at_shards(Connection& connection, const TableName& table);
  Result<std::map<std::string, std::uint16_t>> shard_counts(Connection& connection);
  [[nodiscard]] std::string fill(std::string_view sql, const std::string& outbox) const;

  Names names_;
  ConnectSettings settings_;
  std::uint16_t shards_;
  std::span<const Engine> engines_;
};

}  // namespace sagabox::postgres
