#include "stores/sql/saga_admin.hpp"

#include "core/stored_message.hpp"
#include "spi/saga_rules.hpp"
#include "stores/sql/saga_store.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sagabox::sql {
namespace {

Values values_of_list(const spi::SagaListRequest& request) {
  const auto& filter = request.filter;
  std::optional<std::string_view> state;
  if (filter.state) state = saga_state_name(*filter.state);
  Values values{request.after.view(), filter.tenant, filter.definition,   state,
                filter.quarantined,   filter.key,    filter.started_from, filter.started_to,
                request.rows_max,     request.bodies};
  if (filter.label) {
    values.emplace_back(filter.label->name);
    values.emplace_back(filter.label->value);
  }
  return values;
}

/// Of a saga that was started by this key: its id says it all.
std::optional<SagaId> only_id(const spi::SagaFilter& filter) {
  if (!filter.tenant || !filter.definition || !filter.key || filter.key->empty()) {
    return std::nullopt;
  }
  return saga_id_of(*filter.tenant, *filter.definition, *filter.key);
}

}  // namespace

SagaAdminStatements::SagaAdminStatements(Sections& sections)
    : list(sections.take("saga_list")),
      list_labelled(sections.take("saga_list_labelled")),
      get(sections.take("saga_get")),
      labels(sections.take("saga_labels")),
      history(sections.take("saga_history")),
      count(sections.take("saga_count")),
      backlog(sections.take("saga_backlog")),
      without_due(sections.take("saga_without_due")),
      pending(sections.take("saga_pending")),
      purge(sections.take("saga_purge")),
      purge_refused(sections.take("saga_purge_refused")) {}

Status SagaAdminStore::add_labels(Session& session, const Statement& labels,
                                  std::vector<SagaRecord>& records) {
  if (records.empty()) return {};
  std::vector<std::string> ids;
  for (const auto& record : records) ids.push_back(record.id.str());
  auto rows = session.run(labels, {std::move(ids)});
  if (!rows.ok()) return rows.error();
  for (const auto row : *rows) {
    const auto record = std::ranges::lower_bound(
        records, row.text(0), {}, [](const SagaRecord& one) { return one.id.view(); });
    if (record == records.end() || record->id.view() != row.text(0)) continue;
    record->labels.push_back({std::string(row.text(1)), std::string(row.text(2))});
  }
  return {};
}

Result<std::vector<SagaRecord>> SagaAdminStore::list(const spi::SagaListRequest& request) {
  std::vector<SagaRecord> records;
  if (const auto id = only_id(request.filter)) {
    auto found = get(*id);
    if (!found.ok()) return found.error();
    const bool wanted = *found && *id > request.after && spi::fits(**found, request.filter);
    if (!wanted || request.rows_max == 0) return records;
    if (!request.bodies) (*found)->body.clear();
    records.push_back(**std::move(found));
    return records;
  }
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  const auto& statement = request.filter.label ? statements_.list_labelled : statements_.list;
  auto rows = (*session)->run(statement, values_of_list(request));
  if (!rows.ok()) return rows.error();
  for (const auto row : *rows) records.push_back(saga_record(row));
  if (auto done = add_labels(**session, statements_.labels, records); !done.ok()) {
    return done.error();
  }
  return records;
}

Result<std::optional<SagaRecord>> SagaAdminStore::get(const SagaId& id) {
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(statements_.get, {id.view()});
  if (!rows.ok()) return rows.error();
  if (rows->empty()) return std::optional<SagaRecord>();
  std::vector<SagaRecord> records{saga_record(rows->front())};
  if (auto done = add_labels(**session, statements_.labels, records); !done.ok()) {
    return done.error();
  }
  return std::optional(std::move(records.front()));
}

Result<std::vector<SagaHistoryEntry>> SagaAdminStore::history(const SagaId& id, std::uint32_t after,
                                                              std::uint32_t rows_max) {
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(statements_.history, {id.view(), after, rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<SagaHistoryEntry> entries;
  for (const auto row : *rows) {
    entries.push_back({.number = row.natural32(0),
                       .at = row.time(1),
                       .event = std::string(row.text(2)),
                       .step = std::string(row.text(3)),
                       .detail = std::string(row.text(4)),
                       .hash = digest_of(row.text(5))});
  }
  return entries;
}

Result<std::vector<spi::SagaCount>> SagaAdminStore::count(
    const std::optional<std::string>& tenant) {
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(statements_.count, {tenant});
  if (!rows.ok()) return rows.error();
  std::vector<spi::SagaCount> counts;
  for (const auto row : *rows) {
    counts.push_back({.definition = std::string(row.text(0)),
                      .state = saga_state_from_name(row.text(1)).value_or(SagaState::failed),
                      .sagas = row.natural(2),
                      .oldest = row.maybe_time(3)});
  }
  std::ranges::sort(counts, {}, [](const spi::SagaCount& count) {
    return std::pair(std::string_view(count.definition), count.state);
  });
  return counts;
}

Result<spi::SagaBacklog> SagaAdminStore::backlog(std::string_view definition) {
  const auto now = clock_ == nullptr ? std::nullopt : std::optional(clock_->wall_now());
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(statements_.backlog, {definition, now});
  if (!rows.ok()) return rows.error();
  const auto row = rows->front();
  return spi::SagaBacklog{.running = row.natural(0),
                          .compensating = row.natural(1),
                          .paused = row.natural(2),
                          .dead = row.natural(3),
                          .wait_for_decision = row.natural(4),
                          .wait_for_approval = row.natural(5),
                          .oldest = row.maybe_time(6),
                          .overdue_since = row.maybe_time(7),
                          .now = row.time(8)};
}

Result<std::vector<SagaRecord>> SagaAdminStore::without_due(std::string_view definition,
                                                            const SagaId& after,
                                                            std::uint32_t rows_max) {
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(statements_.without_due, {definition, after.view(), rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<SagaRecord> records;
  for (const auto row : *rows) records.push_back(saga_record(row));
  return records;
}

Result<std::vector<SagaCommand>> SagaAdminStore::pending(const SagaId& id, std::uint32_t rows_max) {
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(statements_.pending, {id.view(), rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<SagaCommand> commands;
  for (const auto row : *rows) commands.push_back(saga_command(row, 0));
  return commands;
}

Result<std::uint64_t> SagaAdminStore::purge(std::string_view definition, Duration older_than,
                                            std::uint32_t rows_max) {
  const auto now = clock_ == nullptr ? std::nullopt : std::optional(clock_->wall_now());
  const auto age = std::chrono::floor<std::chrono::microseconds>(older_than).count();
  auto session = sessions_.autocommit();
  if (!session.ok()) return session.error();
  const std::array calls{Call{&statements_.purge, {definition, age, rows_max, now}},
                         Call{&statements_.purge_refused, {age, rows_max, now}}};
  auto answers = (*session)->run(calls);
  if (!answers.ok()) return answers.error();
  return static_cast<std::uint64_t>(answers->front().front().integer(0));
}

}  // namespace sagabox::sql
