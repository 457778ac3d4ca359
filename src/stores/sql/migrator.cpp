#include "stores/sql/migrator.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sagabox::sql {
namespace {

/// Fills in the record of an engine.
Statement on_record(const Statement& statement, const schema::Engine& engine) {
  return statement.for_table(TableName::parse(engine.record).value());
}

Status run_only(Session& session, const Statement& statement, Values values = {}) {
  auto done = session.run(statement, std::move(values));
  if (!done.ok()) return done.error();
  return {};
}

Result<bool> has_row(Session& session, const Statement& statement) {
  auto rows = session.run(statement);
  if (!rows.ok()) return rows.error();
  return !rows->empty();
}

Error undelivered_messages(const TableName& outbox) {
  return {Code::tx_invalid_state,
          "outbox " + outbox.str() +
              " has undelivered messages (pending, dead or quarantined), which would be lost; "
              "deliver or purge them, or force it"};
}

Error sagas_are_active() {
  return {Code::tx_invalid_state,
          "sagas are active, and would end in the middle of their steps; let them end or cancel "
          "them, or force it"};
}

Error deliveries_are_open() {
  return {
      Code::tx_invalid_state,
      "deliveries are open or events not routed yet, and would be lost; let the hub finish them "
      "or disable their subscriptions, or force it"};
}

}  // namespace

MigratorStatements::MigratorStatements(Sections& sections)
    : is_there(sections.take("record_there")),
      make(sections.take("record_make")),
      lacks_checksums(sections.take("record_lacks_checksums")),
      add_checksums(sections.take("record_add_checksums")),
      drop(sections.take("record_drop")),
      read(sections.take("record_read")),
      add(sections.take("record_add")),
      remove(sections.take("record_remove")),
      undelivered(sections.take("outbox_undelivered")),
      active_sagas(sections.take("saga_active")),
      open_deliveries(sections.take("hub_deliveries_open")),
      empty(sections.take("outbox_empty")) {}

Status Migrator::check(const spi::SchemaUp& request) const {
  auto engine = schema::find_engine(engines_, request.engine);
  if (!engine.ok()) return engine.error();
  return schema::check_up(**engine, request);
}

Status Migrator::check(const spi::SchemaDown& request) const {
  if (auto checked = schema::check_down(request); !checked.ok()) return checked;
  auto engine = schema::find_engine(engines_, request.engine);
  if (!engine.ok()) return engine.error();
  return {};
}

Result<bool> Migrator::is_there(Session& session, const schema::Engine& engine) const {
  return has_row(session, on_record(statements_.is_there, engine));
}

Status Migrator::make_record(Session& session, const schema::Engine& engine) const {
  if (auto made = run_only(session, on_record(statements_.make, engine)); !made.ok()) return made;
  auto lacks = has_row(session, on_record(statements_.lacks_checksums, engine));
  if (!lacks.ok()) return lacks.error();
  return *lacks ? run_only(session, on_record(statements_.add_checksums, engine)) : Status();
}

Result<Migrator::Applied> Migrator::read(Session& session, const schema::Engine& engine) const {
  auto there = is_there(session, engine);
  if (!there.ok()) return there.error();
  if (!*there) return Applied{};
  auto rows = session.run(on_record(statements_.read, engine));
  if (!rows.ok()) return rows.error();
  Applied steps;
  for (const auto row : *rows) {
    steps.push_back({static_cast<int>(row.integer(0)), std::string(row.text(1)), row.time(2),
                     std::string(row.text(3))});
  }
  return steps;
}

Result<bool> Migrator::is_complete(Session& session, const TableName& outbox) const {
  auto engine = schema::find_engine(engines_, spi::outbox_engine);
  if (!engine.ok()) return engine.error();
  auto done = read(session, **engine);
  if (!done.ok()) return done.error();
  return schema::missing(**engine, *done, std::span(&outbox, 1)).empty();
}

Result<bool> Migrator::is_complete(Session& session, std::string_view name) const {
  auto engine = schema::find_engine(engines_, name);
  if (!engine.ok()) return engine.error();
  auto done = read(session, **engine);
  if (!done.ok()) return done.error();
  auto outboxes = schema::outboxes_of(*done);
  if (!outboxes.ok()) return outboxes.error();
  return schema::missing(**engine, *done, *outboxes).empty();
}

Status Migrator::up(SchemaSession& session, const spi::SchemaUp& request) const {
  if (auto checked = check(request); !checked.ok()) return checked;
  const auto& engine = **schema::find_engine(engines_, request.engine);
  if (auto made = make_record(session, engine); !made.ok()) return made;
  auto done = read(session, engine);
  if (!done.ok()) return done.error();
  auto outboxes = schema::outboxes_of(*done);
  if (!outboxes.ok()) return outboxes.error();
  if (request.outbox && std::ranges::find(*outboxes, *request.outbox) == outboxes->end()) {
    if (auto fits = dialect_.check_name(*request.outbox, *outboxes); !fits.ok()) return fits;
    outboxes->push_back(*request.outbox);
  }
  for (const auto& part : schema::missing(engine, *done, *outboxes)) {
    if (auto applied = apply(session, engine, part); !applied.ok()) return applied;
  }
  return session.commit();
}

Status Migrator::apply(SchemaSession& session, const schema::Engine& engine,
                       const schema::Part& part) const {
  if (auto made = session.script(dialect_.fill(part.up(), part.outbox)); !made.ok()) {
    return Error{made.error().code, part.text() + ": " + made.error().message};
  }
  const auto now = session.now();
  if (!now.ok()) return now.error();
  return run_only(session, on_record(statements_.add, engine),
                  {part.step->number, part.outbox, part.step->name,
                   schema::checksum(reference_(part.up())), *now});
}

Status Migrator::down(SchemaSession& session, const spi::SchemaDown& request) const {
  if (auto checked = check(request); !checked.ok()) return checked;
  const auto& engine = **schema::find_engine(engines_, request.engine);
  auto done = read(session, engine);
  if (!done.ok()) return done.error();
  auto outboxes = schema::outboxes_of(*done);
  if (!outboxes.ok()) return outboxes.error();
  auto parts = schema::removable(engine, *done, *request.to);
  if (!parts.ok()) return parts.error();
  const bool everything = *request.to == 0;
  if (everything && !parts->empty() && !request.force) {
    if (auto idle = check_idle(session, engine); !idle.ok()) return idle;
  }
  if (everything) {
    auto emptied = empty_outboxes(session, *outboxes, request.force);
    if (!emptied.ok()) return emptied;
  }
  for (const auto& part : *parts) {
    if (auto undone = undo(session, engine, part); !undone.ok()) return undone;
  }
  if (everything) {
    if (auto dropped = drop_record(session, engine); !dropped.ok()) return dropped;
  }
  return session.commit();
}

Status Migrator::check_idle(Session& session, const schema::Engine& engine) const {
  if (engine.name == spi::saga_engine) {
    auto active = has_row(session, statements_.active_sagas);
    if (!active.ok()) return active.error();
    if (*active) return sagas_are_active();
  }
  if (engine.name == spi::hub_engine) {
    auto open = has_row(session, statements_.open_deliveries);
    if (!open.ok()) return open.error();
    if (*open) return deliveries_are_open();
  }
  return {};
}

Status Migrator::empty_outboxes(Session& session, std::span<const TableName> outboxes,
                                bool force) const {
  for (const auto& outbox : outboxes) {
    if (force) break;
    auto undelivered = has_row(session, statements_.undelivered.for_table(outbox));
    if (!undelivered.ok()) return undelivered.error();
    if (*undelivered) return undelivered_messages(outbox);
  }
  // Rows that will be lost anyway must not prevent an older step.
  for (const auto& outbox : outboxes) {
    auto emptied = run_only(session, statements_.empty.for_table(outbox));
    if (!emptied.ok()) return emptied;
  }
  return {};
}

Status Migrator::undo(SchemaSession& session, const schema::Engine& engine,
                      const schema::Part& part) const {
  if (auto undone = session.script(dialect_.fill(part.down(), part.outbox)); !undone.ok()) {
    const bool repeated = undone.error().code == Code::storage_conflict;
    return Error{repeated ? Code::tx_invalid_state : undone.error().code,
                 part.text() + " cannot be taken back: " +
                     (repeated ? "an id is there twice, which the older schema does not allow"
                               : undone.error().message)};
  }
  return run_only(session, on_record(statements_.remove, engine), {part.step->number, part.outbox});
}

Status Migrator::drop_record(Session& session, const schema::Engine& engine) const {
  auto there = is_there(session, engine);
  if (!there.ok()) return there.error();
  if (!*there) return {};
  if (auto done = run_only(session, on_record(statements_.drop, engine)); !done.ok()) return done;
  for (const auto& other : engines_) {
    auto left = is_there(session, other);
    if (!left.ok()) return left.error();
    if (*left) return {};
  }
  return dialect_.removed_all(session);
}

Result<std::vector<spi::SchemaStep>> Migrator::status(Session& session) const {
  std::vector<spi::SchemaStep> all;
  for (const auto& engine : engines_) {
    auto done = read(session, engine);
    if (!done.ok()) return done.error();
    auto outboxes = schema::outboxes_of(*done);
    if (!outboxes.ok()) return outboxes.error();
    std::ranges::move(schema::status_of(engine, *done, *outboxes, reference_),
                      std::back_inserter(all));
  }
  return schema::shown(std::move(all));
}

std::vector<spi::SchemaStep> Migrator::nothing_applied() const {
  std::vector<spi::SchemaStep> all;
  for (const auto& engine : engines_) {
    std::ranges::move(schema::status_of(engine, {}, {}, reference_), std::back_inserter(all));
  }
  return all;
}

Result<std::vector<TableName>> Migrator::outboxes(Session& session) const {
  auto engine = schema::find_engine(engines_, spi::outbox_engine);
  if (!engine.ok()) return engine.error();
  auto done = read(session, **engine);
  if (!done.ok()) return done.error();
  return schema::outboxes_of(*done);
}

Result<bool> Migrator::is_made(Session& session) const {
  auto engine = schema::find_engine(engines_, spi::outbox_engine);
  if (!engine.ok()) return engine.error();
  return is_there(session, **engine);
}

}  // namespace sagabox::sql
