#pragma once

#include "stores/postgres/driver/connection.hpp"
#include "stores/postgres/driver/names.hpp"

#include <sagabox/stores/postgres.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::postgres {

/// Makes and takes back the tables of a schema. Every change is one transaction under one lock, so
/// that two may run at once.
class Migrations {
 public:
  Migrations(Names names, ConnectSettings settings, std::uint16_t shards);

  /// What is shared, and this outbox. Looks first, and needs no right to make tables when
  /// everything is there. CONFIG.INVALID when it was made with another count of shards.
  Status prepare(const TableName& table);
  Status up();
  Status down(const DownRequest& request);
  Result<std::vector<MigrationStatus>> status();
  /// To the count that these migrations were made with.
  Result<ReshardReport> reshard(const TableName& table, const ReshardRequest& request);

 private:
  struct Applied {
    int number = 0;
    std::string outbox;
    WallTime at{};
  };

  Result<std::unique_ptr<Connection>> connect() const;
  Status change(Connection& connection, const std::optional<TableName>& wanted);
  Status lock(Connection& connection);
  Status apply(Connection& connection, int number, std::string_view name, const std::string& outbox,
               const std::string& sql);
  Result<std::vector<Applied>> applied(Connection& connection);
  Result<std::vector<TableName>> outboxes(Connection& connection);
  Result<bool> is_begun(Connection& connection);
  Result<bool> is_ready(Connection& connection, const TableName& table);
  Status check_shards(Connection& connection, const TableName& table);
  Status check_delivered(Connection& connection, const TableName& table);
  /// `met`: a relay was in the way, which it may not be the next time.
  Result<ReshardReport> reshard_once(const TableName& table, const ReshardRequest& request,
                                     bool& met);
  Status lock_owners(Connection& connection, const TableName& table, std::uint16_t shards);
  /// What a change would meet.
  Result<ReshardReport> look_at_shards(Connection& connection, const TableName& table);
  Result<std::map<std::string, std::uint16_t>> shard_counts(Connection& connection);
  Status take_back(Connection& connection, const DownRequest& request);
  [[nodiscard]] std::string fill(std::string_view sql, const TableName& table) const;

  Names names_;
  ConnectSettings settings_;
  std::uint16_t shards_;
};

}  // namespace sagabox::postgres
