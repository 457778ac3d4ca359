#pragma once

#include "stores/sql/migrator.hpp"
#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/writer.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::sqlite {

/// The SQL of a step for an outbox `orders`. Checksums are computed over this text.
std::string reference_sql(std::string_view sql);

/// Makes and removes the tables of a file. Every change is one transaction, so that two processes
/// may run it at once.
class Migrations : private sql::SchemaDialect {
 public:
  explicit Migrations(sql::Sections& sections, const Clock& clock,
                      std::span<const Engine> engines = sqlite::engines())
      : clock_(clock), migrator_(sections, engines, reference_sql, *this) {}

  /// Makes the tables of the engine "outbox", and this outbox. `reader` looks first: nothing is
  /// locked if everything exists.
  Status prepare(Connection& reader, Writer& writer, const TableName& table) const;
  Status up(Writer& writer, const spi::SchemaUp& request) const;
  Status down(Writer& writer, const spi::SchemaDown& request) const;
  Result<std::vector<spi::SchemaStep>> status(Connection& reader) const;
  /// What `status` returns if the file does not exist.
  [[nodiscard]] std::vector<spi::SchemaStep> nothing_applied() const {
    return migrator_.nothing_applied();
  }
  /// The outboxes of the file; none before the first was made.
  Result<std::vector<TableName>> tables(Connection& reader) const;

 private:
  [[nodiscard]] std::string fill(std::string_view sql, const std::string& outbox) const override;
  [[nodiscard]] Status check_name(const TableName& wanted,
                                  std::span<const TableName> there) const override;

  const Clock& clock_;
  const sql::Migrator migrator_;
};

}  // namespace sagabox::sqlite
