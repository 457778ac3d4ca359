#pragma once

#include "stores/schema_steps.hpp"
#include "stores/sql/session.hpp"

#include <sagabox/spi/schema_store.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::sql {

/// A transaction that changes the schema, under a lock that lets only one do so.
class SchemaSession : public OwnedSession {
 public:
  /// Several statements without parameters.
  virtual Status script(const std::string& sql) = 0;
};

/// What is a database's own about its steps.
class SchemaDialect {
 public:
  SchemaDialect() = default;
  SchemaDialect(const SchemaDialect&) = delete;
  SchemaDialect& operator=(const SchemaDialect&) = delete;
  virtual ~SchemaDialect() = default;
  /// SQL of a step with the names of this schema, and of an outbox where one is given.
  [[nodiscard]] virtual std::string fill(std::string_view sql, const std::string& outbox) const = 0;
  /// Whether an outbox of this name can be made beside those that are there.
  [[nodiscard]] virtual Status check_name(const TableName& /*wanted*/,
                                          std::span<const TableName> /*there*/) const {
    return {};
  }
  /// After the last engine was removed.
  virtual Status removed_all(Session& /*session*/) const { return {}; }
};

/// On the record of an engine, which `{table}` stands for; the last two on an outbox.
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

  /// CONFIG.INVALID if such a change cannot be.
  [[nodiscard]] Status check(const spi::SchemaUp& request) const;
  [[nodiscard]] Status check(const spi::SchemaDown& request) const;

  /// Whether the engine "outbox" and this outbox have all steps.
  Result<bool> is_complete(Session& session, const TableName& outbox) const;
  /// Whether this engine has all steps, for all of its outboxes.
  Result<bool> is_complete(Session& session, std::string_view engine) const;
  /// Commits.
  Status up(SchemaSession& session, const spi::SchemaUp& request) const;
  Status down(SchemaSession& session, const spi::SchemaDown& request) const;
  Result<std::vector<spi::SchemaStep>> status(Session& session) const;
  /// `status` of a database in which nothing was made.
  [[nodiscard]] std::vector<spi::SchemaStep> nothing_applied() const;
  /// Of the engine "outbox"; none before it was made.
  Result<std::vector<TableName>> outboxes(Session& session) const;
  /// Whether a step of the engine "outbox" was ever recorded.
  Result<bool> is_made(Session& session) const;

 private:
  using Applied = std::vector<schema::Applied>;

  Result<bool> is_there(Session& session, const schema::Engine& engine) const;
  Status make_record(Session& session, const schema::Engine& engine) const;
  /// Empty where the record is not there.
  Result<Applied> read(Session& session, const schema::Engine& engine) const;
  Status apply(SchemaSession& session, const schema::Engine& engine,
               const schema::Part& part) const;
  Status undo(SchemaSession& session, const schema::Engine& engine, const schema::Part& part) const;
  /// Before all of an engine is removed: TX.INVALID_STATE while something of it is under way.
  Status check_idle(Session& session, const schema::Engine& engine) const;
  /// Before all of an engine is removed. `force`: with what is undelivered.
  Status empty_outboxes(Session& session, std::span<const TableName> outboxes, bool force) const;
  Status drop_record(Session& session, const schema::Engine& engine) const;

  const MigratorStatements statements_;
  const std::span<const schema::Engine> engines_;
  const Reference reference_;
  const SchemaDialect& dialect_;
};

}  // namespace sagabox::sql
