#include "stores/sqlite/migrations.hpp"

#include "stores/sqlite/fragments.hpp"
#include "stores/sqlite/schema.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace sagabox::sqlite {
namespace {

const std::string first_tables_sql = R"sql(
CREATE TABLE IF NOT EXISTS sagabox_migration (
  number     INTEGER NOT NULL,
  outbox     TEXT    NOT NULL DEFAULT '',
  name       TEXT    NOT NULL,
  applied_at INTEGER NOT NULL,
  PRIMARY KEY (number, outbox)
) STRICT, WITHOUT ROWID;
)sql";

const Sql begun_sql{
    "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'sagabox_migration'"};
const Sql note_step_sql{
    "INSERT INTO sagabox_migration (number, outbox, name, applied_at) VALUES (?1, ?2, ?3, ?4)"};
const Sql forget_sql{"DELETE FROM sagabox_migration WHERE number = ?1 AND outbox = ?2"};
const Sql applied_sql{
    "SELECT number, outbox, applied_at FROM sagabox_migration ORDER BY number, outbox"};
const Sql count_steps_sql{"SELECT count(*) FROM sagabox_migration WHERE outbox IN ('', ?1)"};
const Sql outboxes_sql{
    "SELECT DISTINCT outbox FROM sagabox_migration WHERE outbox <> '' ORDER BY outbox"};

constexpr std::string_view undelivered_sql = R"sql(
SELECT EXISTS (SELECT 1 FROM "{table}_pending") OR EXISTS (SELECT 1 FROM "{table}_dead")
)sql";

constexpr std::string_view empty_sql = R"sql(
DELETE FROM "{table}_pending";
)sql";

/// As SQLite compares the names of tables.
std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

Error wrong_name(const TableName& table, std::string_view what) {
  return {Code::config_invalid, "outbox \"" + table.str() + "\": " + std::string(what)};
}

/// Unless it is among them.
Status add_to(std::vector<TableName>& tables, const TableName& wanted) {
  for (const auto& table : tables) {
    if (table == wanted) return {};
    if (lower_case(table.str()) != lower_case(wanted.str())) continue;
    return wrong_name(wanted, "this file has an outbox \"" + table.str() +
                                  "\", and SQLite does not tell upper from lower case in names; "
                                  "use that one, or choose another name");
  }
  tables.push_back(wanted);
  return {};
}

/// Names that the tables of an outbox cannot have.
Status check_name(const TableName& table) {
  const auto name = lower_case(table.str());
  if (name == "sagabox") {
    return wrong_name(table, "its tables would have the names of sagabox's own; choose another");
  }
  if ((name + "_").starts_with("sqlite_")) {
    return wrong_name(table, "names that begin with sqlite_ are SQLite's own; choose another");
  }
  return {};
}

Result<std::int64_t> value_of(Run run) {
  auto row = run.step();
  if (!row.ok()) return row.error();
  return *row ? run.integer(0) : 0;
}

}  // namespace

Result<bool> Migrations::is_begun(Connection& connection) {
  auto tables = value_of(connection.run(begun_sql));
  if (!tables.ok()) return tables.error();
  return *tables > 0;
}

Result<bool> Migrations::is_ready(Connection& connection, const TableName& table) {
  auto begun = is_begun(connection);
  if (!begun.ok() || !*begun) return begun;
  auto run = connection.run(count_steps_sql);
  run.with(table.str());
  auto count = value_of(std::move(run));
  if (!count.ok()) return count.error();
  return std::cmp_equal(*count, 2 * migrations().size());
}

Status Migrations::prepare(Connection& reader, const TableName& table) {
  if (auto fits = check_name(table); !fits.ok()) return fits;
  auto ready = is_ready(reader, table);
  if (!ready.ok()) return ready.error();
  if (*ready) return {};
  return change(table);
}

Status Migrations::up() { return change(std::nullopt); }

Result<std::vector<Migrations::Applied>> Migrations::applied(Connection& connection) {
  std::vector<Applied> steps;
  auto run = connection.run(applied_sql);
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    if (!*row) return steps;
    steps.push_back({static_cast<int>(run.integer(0)), std::string(run.text(1)), run.time(2)});
  }
}

Result<std::vector<TableName>> Migrations::outboxes(Connection& connection) {
  std::vector<TableName> tables;
  auto run = connection.run(outboxes_sql);
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    if (!*row) return tables;
    auto name = TableName::parse(run.text(0));
    if (!name.ok()) return name.error();
    tables.push_back(*name);
  }
}

Status Migrations::change(const std::optional<TableName>& wanted) {
  auto transaction = writer_.begin();
  if (!transaction.ok()) return transaction.error();
  auto& connection = transaction->connection();
  if (auto made = connection.link().script(first_tables_sql); !made.ok()) return made;
  auto done = applied(connection);
  if (!done.ok()) return done.error();
  auto tables = outboxes(connection);
  if (!tables.ok()) return tables.error();
  if (wanted) {
    if (auto added = add_to(*tables, *wanted); !added.ok()) return added;
  }
  const auto missing = [&](int number, const std::string& outbox) {
    return std::ranges::none_of(
        *done, [&](const Applied& step) { return step.number == number && step.outbox == outbox; });
  };
  for (const auto& step : migrations()) {
    if (missing(step.number, "")) {
      auto made = apply(connection, step.number, step.name, "", std::string(step.up));
      if (!made.ok()) return made;
    }
    for (const auto& table : *tables) {
      if (!missing(step.number, table.str())) continue;
      auto made =
          apply(connection, step.number, step.name, table.str(), Filler(table).text(step.table_up));
      if (!made.ok()) return made;
    }
  }
  return transaction->commit();
}

Status Migrations::apply(Connection& connection, int number, std::string_view name,
                         const std::string& outbox, const std::string& sql) const {
  if (auto made = connection.link().script(sql); !made.ok()) {
    const std::string what = "migration " + std::to_string(number) + " (" + std::string(name) +
                             (outbox.empty() ? "" : ", outbox " + outbox) + "): ";
    return Error{made.error().code, what + made.error().message};
  }
  return connection.run(note_step_sql)
      .with(number)
      .with(outbox)
      .with(name)
      .with(clock_.wall_now())
      .finish();
}

Status Migrations::down(const DownRequest& request) {
  auto transaction = writer_.begin();
  if (!transaction.ok()) return transaction.error();
  auto& connection = transaction->connection();
  auto begun = is_begun(connection);
  if (!begun.ok()) return begun.error();
  if (!*begun) return {};
  auto done = applied(connection);
  if (!done.ok()) return done.error();
  auto tables = outboxes(connection);
  if (!tables.ok()) return tables.error();
  for (const auto& table : *tables) {
    if (request.to > 0 || request.force) break;
    if (auto checked = check_delivered(connection, table); !checked.ok()) return checked;
  }
  // What is lost anyway does not stand in the way of an older step.
  for (const auto& table : *tables) {
    if (request.to > 0) break;
    auto emptied = connection.link().script(Filler(table).text(empty_sql));
    if (!emptied.ok()) return emptied;
  }
  // Newest first, and of each step the outboxes before what they share.
  for (const auto& step : std::views::reverse(*done)) {
    if (step.number <= request.to) continue;
    if (auto undone = take_back(connection, step); !undone.ok()) return undone;
  }
  if (request.to <= 0) {
    if (auto ended = connection.link().script("DROP TABLE sagabox_migration"); !ended.ok()) {
      return ended;
    }
  }
  return transaction->commit();
}

Status Migrations::take_back(Connection& connection, const Applied& step) {
  if (std::cmp_greater(step.number, migrations().size())) {
    return Error{Code::tx_invalid_state, "step " + std::to_string(step.number) +
                                             " was made by a newer version of sagabox; take it "
                                             "back with that one"};
  }
  const auto& migration = migrations()[static_cast<std::size_t>(step.number - 1)];
  std::string sql(migration.down);
  if (!step.outbox.empty()) {
    sql = Filler(TableName::parse(step.outbox).value()).text(migration.table_down);
  }
  if (auto undone = connection.link().script(sql); !undone.ok()) {
    const std::string what =
        "step " + std::to_string(step.number) + " (" + std::string(migration.name) +
        (step.outbox.empty() ? "" : ", outbox " + step.outbox) + ") cannot be taken back: ";
    return Error{undone.error().code, what + undone.error().message};
  }
  return connection.run(forget_sql).with(step.number).with(step.outbox).finish();
}

Status Migrations::check_delivered(Connection& connection, const TableName& table) {
  // Looked at on a connection that stays open: the statement must not outlive its text.
  Link link(connection.handle());
  const Sql sql{Filler(table).text(undelivered_sql)};
  auto undelivered = value_of(link.run(sql));
  if (!undelivered.ok()) return undelivered.error();
  if (*undelivered == 0) return {};
  return Error{Code::tx_invalid_state,
               "outbox " + table.str() +
                   " has undelivered messages (pending, dead or quarantined), which would be lost; "
                   "deliver or purge them, or force it"};
}

Result<std::vector<TableName>> Migrations::tables(Connection& reader) {
  auto begun = is_begun(reader);
  if (!begun.ok()) return begun.error();
  return *begun ? outboxes(reader) : std::vector<TableName>{};
}

Result<std::vector<MigrationStatus>> Migrations::status(Connection& reader) {
  auto begun = is_begun(reader);
  if (!begun.ok()) return begun.error();
  auto done = *begun ? applied(reader) : std::vector<Applied>{};
  if (!done.ok()) return done.error();
  auto tables = Migrations::tables(reader);
  if (!tables.ok()) return tables.error();
  std::vector<std::string> owners{""};
  for (const auto& table : *tables) owners.push_back(table.str());
  std::vector<MigrationStatus> all;
  for (const auto& step : migrations()) {
    for (const auto& owner : owners) {
      const auto at = std::ranges::find_if(*done, [&](const Applied& one) {
        return one.number == step.number && one.outbox == owner;
      });
      all.push_back({step.number, std::string(step.name), owner,
                     at == done->end() ? std::nullopt : std::optional(at->at)});
    }
  }
  return all;
}

}  // namespace sagabox::sqlite
