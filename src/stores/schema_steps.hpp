#pragma once

#include <sagabox/spi/schema_store.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Which steps of a schema are to be applied or removed: decided here for all databases.
namespace sagabox::schema {

/// One step: what is shared, and what each outbox has. Whole SQL with placeholders for names.
/// `down` removes what `up` made.
struct Migration {
  int number = 0;
  std::string_view name;
  std::string_view up;
  std::string_view down;
  std::string_view table_up{};  ///< empty in engines without outboxes
  std::string_view table_down{};
};

/// The tables of one engine. Each engine numbers its own steps and records them in a table of its
/// own, so a database can have the tables of one engine without those of another.
struct Engine {
  std::string_view name;
  std::string_view record;  ///< the name of that table
  /// Ascending from 1, without a gap. A released step is never changed: a test holds its checksums.
  std::span<const Migration> steps;
};

/// A row of the record.
struct Applied {
  int number = 0;
  std::string outbox{};
  WallTime at{};
  std::string checksum{};  ///< empty: recorded by a version that kept none
};

/// A step, either its shared part or its part for one outbox.
struct Part {
  const Migration* step = nullptr;
  std::string outbox{};  ///< empty: the shared part

  [[nodiscard]] std::string_view up() const { return outbox.empty() ? step->up : step->table_up; }
  [[nodiscard]] std::string_view down() const {
    return outbox.empty() ? step->down : step->table_down;
  }
  /// "step 2 (tenants, outbox orders)"
  [[nodiscard]] std::string text() const;
};

/// CONFIG.INVALID for a name that is not among them.
Result<const Engine*> find_engine(std::span<const Engine> engines, std::string_view name);

/// CONFIG.INVALID if the engine has nothing for an outbox to be made.
Status check_up(const Engine& engine, const spi::SchemaUp& request);
/// CONFIG.INVALID without a step that stays.
Status check_down(const spi::SchemaDown& request);

/// The outboxes that have a step, by name.
Result<std::vector<TableName>> outboxes_of(std::span<const Applied> applied);

/// What is not applied, in the order in which it has to be.
std::vector<Part> missing(const Engine& engine, std::span<const Applied> applied,
                          std::span<const TableName> outboxes);

/// What is above step `to`: newest first, and of each step the outboxes before the shared part.
/// TX.INVALID_STATE if a newer version made some of it.
Result<std::vector<Part>> removable(const Engine& engine, std::span<const Applied> applied, int to);

/// SHA-256 of SQL, in hex.
std::string checksum(const std::string& sql);

/// `reference`: a database's way to fill in the same names everywhere, so that checksums do not
/// depend on them.
std::vector<spi::SchemaStep> status_of(const Engine& engine, std::span<const Applied> applied,
                                       std::span<const TableName> outboxes,
                                       std::string (*reference)(std::string_view sql));

/// Of engines, those to show: the ones that were made, or all of them while nothing was.
std::vector<spi::SchemaStep> shown(std::vector<spi::SchemaStep> steps);

}  // namespace sagabox::schema
