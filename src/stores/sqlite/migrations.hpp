#pragma once

#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/writer.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::sqlite {

/// SQL of a step as it is for an outbox `orders`: what checksums are taken of.
std::string reference_sql(std::string_view sql);

/// Makes and removes the tables of a file. Every change is one transaction, so that two may run at
/// once.
class Migrations {
 public:
  Migrations(Writer& writer, const Clock& clock,
             std::span<const Engine> engines = sqlite::engines())
      : writer_(writer), clock_(clock), engines_(engines) {}

  /// The engine "outbox", and this outbox. `reader` looks first: nothing is locked when all is
  /// there.
  Status prepare(Connection& reader, const TableName& table);
  Status up(const spi::SchemaUp& request);
  Status down(const spi::SchemaDown& request);
  static Result<std::vector<spi::SchemaStep>> status(
      Connection& reader, std::span<const Engine> engines = sqlite::engines());
  /// What `status` says where there is no file.
  static std::vector<spi::SchemaStep> nothing_applied();
  /// The outboxes of the file; none where nothing was made yet.
  static Result<std::vector<TableName>> tables(Connection& reader);

 private:
  Status change(const Engine& engine, const std::optional<TableName>& wanted);

  Writer& writer_;
  const Clock& clock_;
  const std::span<const Engine> engines_;
};

}  // namespace sagabox::sqlite
