#pragma once

#include "stores/schema_steps.hpp"
#include "stores/sql/session.hpp"

#include <sagabox/spi/schema_store.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::sql {

/// A transaction that changes the schema, under a lock that allows only one at a time.
class SchemaSession : public OwnedSession {
 public:
  /// Runs several statements without parameters.
  virtual Status script(const std::string& sql) = 0;
};

/// The parts of the steps that depend on the database.
class SchemaDialect {
 public:
  SchemaDialect() = default;
  SchemaDialect(const SchemaDialect&) = delete;
  SchemaDialect& operator=(const SchemaDialect&) = delete;
  virtual ~SchemaDialect() = default;
  /// The SQL of a step with the names of this schema, and of an outbox if one is given.
  [[nodiscard]] virtual std::string fill(std::string_view sql, const std::string& outbox) const = 0;
  /// Whether an outbox of this name can be made beside the existing ones.
  [[nodiscard]] virtual Status check_name(const TableName& /*wanted*/,
                                          std::span<const TableName> /*there*/) const {
    return {};
  }
  /// Called after the last engine was removed.
  virtual Status removed_all(Session& /*session*/) const { return {}; }
};

/// Statements on the record of an engine, which is the `{table}` in them; the last two are on an
/// outbox.
struct MigratorStatements {
  explicit MigratorStatements(Sections& sections);

  Statement is_there;
  Statement make;
  Statement lacks_checksums;
  Statement add_checksums;
  Statement drop;
  Statement read;
  Statement add;
  Statement remove;
  Statement undelivered;
  Statement active_sagas;
  Statement open_deliveries;
  Statement empty;
};

/// Applies and removes the steps of a schema (schema_steps.hpp decides which), and records them.
/// A whole change is one transaction.
class Migrator {
 public:
  using Reference = std::string (*)(std::string_view sql);

  /// `reference`: see `schema::status_of`. `dialect` outlives the migrator.
  Migrator(Sections& sections, std::span<const schema::Engine> engines, Reference reference,
           const SchemaDialect& dialect)
      : statements_(sections), engines_(engines), reference_(reference), dialect_(dialect) {}

  /// CONFIG.INVALID if such a change is not possible.
  [[nodiscard]] Status check(const spi::SchemaUp& request) const;
  [[nodiscard]] Status check(const spi::SchemaDown& request) const;

  /// Whether the engine "outbox" and this outbox have all steps.
  Result<bool> is_complete(Session& session, const TableName& outbox) const;
  /// Whether this engine has all steps, for all of its outboxes.
  Result<bool> is_complete(Session& session, std::string_view engine) const;
  /// Applies the steps and commits.
  Status up(SchemaSession& session, const spi::SchemaUp& request) const;
  Status down(SchemaSession& session, const spi::SchemaDown& request) const;
  Result<std::vector<spi::SchemaStep>> status(Session& session) const;
  /// The `status` of an empty database.
  [[nodiscard]] std::vector<spi::SchemaStep> nothing_applied() const;
  /// The outboxes of the engine "outbox"; none before it was made.
  Result<std::vector<TableName>> outboxes(Session& session) const;
  /// Whether a step of the engine "outbox" was ever recorded.
  Result<bool> is_made(Session& session) const;

 private:
  using Applied = std::vector<schema::Applied>;

  Result<bool> is_there(Session& session, const schema::Engine& engine) const;
  Status make_record(Session& session, const schema::Engine& engine) const;
  /// Empty if there is no record.
  Result<Applied> read(Session& session, const schema::Engine& engine) const;
  Status apply(SchemaSession& session, const schema::Engine& engine,
               const schema::Part& part) const;
  Status undo(SchemaSession& session, const schema::Engine& engine, const schema::Part& part) const;
  /// Run before all of an engine is removed: TX.INVALID_STATE while some of its work has not ended.
  Status check_idle(Session& session, const schema::Engine& engine) const;
  /// Run before all of an engine is removed. `force` also deletes undelivered messages.
  Status empty_outboxes(Session& session, std::span<const TableName> outboxes, bool force) const;
  Status drop_record(Session& session, const schema::Engine& engine) const;

  const MigratorStatements statements_;
  const std::span<const schema::Engine> engines_;
  const Reference reference_;
  const SchemaDialect& dialect_;
};

}  // namespace sagabox::sql
