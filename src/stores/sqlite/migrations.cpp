#include "stores/sqlite/migrations.hpp"

#include "stores/sqlite/fragments.hpp"
#include "stores/sqlite/step_record.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sagabox::sqlite {
namespace {

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

Status check_delivered(Connection& connection, const TableName& table) {
  // Looked at on a connection that stays open: the statement must not outlive its text.
  Link link(connection.handle());
  const Sql sql{Filler(table).text(undelivered_sql)};
  auto run = link.run(sql);
  auto undelivered = run.step();
  if (!undelivered.ok()) return undelivered.error();
  if (*undelivered && run.integer(0) == 0) return {};
  return Error{Code::tx_invalid_state,
               "outbox " + table.str() +
                   " has undelivered messages (pending, dead or quarantined), which would be lost; "
                   "deliver or purge them, or force it"};
}

Status empty(Connection& connection, const TableName& table) {
  return connection.link().script(Filler(table).text(empty_sql));
}

/// The SQL of a step with the name of its outbox.
std::string step_sql(std::string_view sql, const std::string& outbox) {
  if (outbox.empty()) return std::string(sql);
  return Filler(TableName::parse(outbox).value()).text(sql);
}

Status apply(Connection& connection, StepRecord& record, const schema::Part& part, WallTime now) {
  if (auto made = connection.link().script(step_sql(part.up(), part.outbox)); !made.ok()) {
    return Error{made.error().code, part.text() + ": " + made.error().message};
  }
  return record.add(part, schema::checksum(reference_sql(part.up())), now);
}

Status take_back(Connection& connection, StepRecord& record, const schema::Part& part) {
  if (auto undone = connection.link().script(step_sql(part.down(), part.outbox)); !undone.ok()) {
    return Error{undone.error().code,
                 part.text() + " cannot be taken back: " + undone.error().message};
  }
  return record.remove(part);
}

}  // namespace

std::string reference_sql(std::string_view sql) {
  return Filler(TableName::parse("orders").value()).text(sql);
}

Status Migrations::prepare(Connection& reader, const TableName& table) {
  if (auto fits = check_name(table); !fits.ok()) return fits;
  auto engine = schema::find_engine(engines_, spi::outbox_engine);
  if (!engine.ok()) return engine.error();
  auto done = StepRecord(reader, **engine).read();
  if (!done.ok()) return done.error();
  if (schema::missing(**engine, *done, std::span(&table, 1)).empty()) return {};
  return change(**engine, table);
}

Status Migrations::up(const spi::SchemaUp& request) {
  auto engine = schema::find_engine(engines_, request.engine);
  if (!engine.ok()) return engine.error();
  if (auto checked = schema::check_up(**engine, request); !checked.ok()) return checked;
  if (request.outbox) {
    if (auto fits = check_name(*request.outbox); !fits.ok()) return fits;
  }
  return change(**engine, request.outbox);
}

Status Migrations::change(const Engine& engine, const std::optional<TableName>& wanted) {
  auto transaction = writer_.begin();
  if (!transaction.ok()) return transaction.error();
  auto& connection = transaction->connection();
  {
    StepRecord record(connection, engine);
    if (auto made = record.make(); !made.ok()) return made;
    auto done = record.read();
    if (!done.ok()) return done.error();
    auto tables = schema::outboxes_of(*done);
    if (!tables.ok()) return tables.error();
    if (wanted) {
      if (auto added = add_to(*tables, *wanted); !added.ok()) return added;
    }
    for (const auto& part : schema::missing(engine, *done, *tables)) {
      auto applied = apply(connection, record, part, clock_.wall_now());
      if (!applied.ok()) return applied;
    }
  }
  return transaction->commit();
}

Status Migrations::down(const spi::SchemaDown& request) {
  if (auto checked = schema::check_down(request); !checked.ok()) return checked;
  auto engine = schema::find_engine(engines_, request.engine);
  if (!engine.ok()) return engine.error();
  auto transaction = writer_.begin();
  if (!transaction.ok()) return transaction.error();
  auto& connection = transaction->connection();
  {
    StepRecord record(connection, **engine);
    auto there = record.is_there();
    if (!there.ok()) return there.error();
    if (!*there) return {};
    auto done = record.read();
    if (!done.ok()) return done.error();
    auto tables = schema::outboxes_of(*done);
    if (!tables.ok()) return tables.error();
    auto parts = schema::removable(**engine, *done, *request.to);
    if (!parts.ok()) return parts.error();
    const bool everything = *request.to == 0;
    for (const auto& table : *tables) {
      if (!everything || request.force) break;
      if (auto checked = check_delivered(connection, table); !checked.ok()) return checked;
    }
    // What is lost anyway does not stand in the way of an older step.
    for (const auto& table : *tables) {
      if (!everything) break;
      if (auto emptied = empty(connection, table); !emptied.ok()) return emptied;
    }
    for (const auto& part : *parts) {
      if (auto undone = take_back(connection, record, part); !undone.ok()) return undone;
    }
    if (everything) {
      if (auto dropped = record.drop(); !dropped.ok()) return dropped;
    }
  }
  return transaction->commit();
}

Result<std::vector<TableName>> Migrations::tables(Connection& reader) {
  auto engine = schema::find_engine(sqlite::engines(), spi::outbox_engine);
  if (!engine.ok()) return engine.error();
  auto done = StepRecord(reader, **engine).read();
  if (!done.ok()) return done.error();
  return schema::outboxes_of(*done);
}

Result<std::vector<spi::SchemaStep>> Migrations::status(Connection& reader,
                                                        std::span<const Engine> engines) {
  std::vector<spi::SchemaStep> all;
  for (const auto& engine : engines) {
    auto done = StepRecord(reader, engine).read();
    if (!done.ok()) return done.error();
    auto tables = schema::outboxes_of(*done);
    if (!tables.ok()) return tables.error();
    std::ranges::move(schema::status_of(engine, *done, *tables, reference_sql),
                      std::back_inserter(all));
  }
  return schema::shown(std::move(all));
}

std::vector<spi::SchemaStep> Migrations::nothing_applied() {
  std::vector<spi::SchemaStep> all;
  for (const auto& engine : sqlite::engines()) {
    std::ranges::move(schema::status_of(engine, {}, {}, reference_sql), std::back_inserter(all));
  }
  return all;
}

}  // namespace sagabox::sqlite
