#include "admin/checks.hpp"
#include "admin/saga_explain.hpp"
#include "admin/saga_view.hpp"
#include "core/scopes.hpp"
#include "core/text.hpp"
#include "saga/decide.hpp"

#include <sagabox/saga_admin.hpp>

#include <utility>

namespace sagabox {
namespace {

constexpr std::uint32_t purge_rows = 1000;
constexpr std::uint32_t history_rows = 1000;
constexpr std::uint32_t commands_explained = 20;

/// A cursor is the last id of the page before.
Result<SagaId> saga_cursor(std::string_view text) {
  if (text.empty()) return SagaId{};
  auto id = SagaId::parse(text);
  if (id.ok()) return id;
  return admin::wrong("cursor: " + quoted(text) + " is not one; give `next` of the page before");
}

}  // namespace

Result<SagaAdmin> SagaAdmin::open(Store& store, AdminOptions options) {
  if (auto status = admin::check_options(options); !status.ok()) return status.error();
  if (store.sagas() == nullptr || store.saga_admin() == nullptr) {
    return Error{Code::tx_invalid_state, store.name() + " has no sagas; use another store"};
  }
  return SagaAdmin(store, std::move(options));
}

Result<SagaPage> SagaAdmin::list(const SagaQuery& query) const {
  if (auto status = admin::check_rows("rows_max", query.rows_max, rows_max); !status.ok()) {
    return status.error();
  }
  if (query.started_from && query.started_to && *query.started_from >= *query.started_to) {
    return admin::wrong("started_to: must be after started_from");
  }
  auto tenant = admin::limited(options_, query.tenant);
  if (!tenant.ok()) return tenant.error();
  const auto after = saga_cursor(query.cursor);
  if (!after.ok()) return after.error();
  const auto rows = store_->saga_admin()->list({.filter = {.tenant = *std::move(tenant),
                                                           .definition = query.definition,
                                                           .state = query.state,
                                                           .quarantined = query.quarantined,
                                                           .label = query.label,
                                                           .key = query.key,
                                                           .started_from = query.started_from,
                                                           .started_to = query.started_to},
                                                .after = *after,
                                                .rows_max = query.rows_max,
                                                .bodies = false});
  if (!rows.ok()) return rows.error();
  SagaPage page;
  page.rows.reserve(rows->size());
  const auto now = options_.clock->wall_now();
  for (const auto& row : *rows) page.rows.push_back(admin::saga_summary(row, now));
  if (page.rows.size() == query.rows_max) page.next = page.rows.back().id.str();
  return page;
}

Result<std::optional<SagaRecord>> SagaAdmin::record(const SagaId& id) const {
  auto found = store_->saga_admin()->get(id);
  if (!found.ok() || !*found) return found;
  if (options_.tenant && (*found)->tenant != *options_.tenant) return std::optional<SagaRecord>();
  return found;
}

Result<std::optional<SagaView>> SagaAdmin::show(const SagaId& id, Admin::PayloadToo payload) const {
  const auto found = record(id);
  if (!found.ok()) return found.error();
  if (!*found) return std::optional<SagaView>();
  const auto stored = store_->sagas()->definitions((*found)->definition);
  if (!stored.ok()) return stored.error();
  return std::optional(admin::saga_view(**found, admin::definition_of(*stored, **found), payload,
                                        options_.clock->wall_now()));
}

Result<std::optional<SagaHistory>> SagaAdmin::history(const SagaId& id, std::uint32_t after,
                                                      std::uint32_t entries_max,
                                                      bool verify) const {
  if (auto status = admin::check_rows("entries_max", entries_max, rows_max); !status.ok()) {
    return status.error();
  }
  const auto found = record(id);
  if (!found.ok()) return found.error();
  if (!*found) return std::optional<SagaHistory>();
  SagaHistory history;
  auto entries = store_->saga_admin()->history(id, after, entries_max);
  if (!entries.ok()) return entries.error();
  history.more = entries->size() == entries_max;
  history.entries = *std::move(entries);
  if (!verify) return std::optional(std::move(history));

  const auto instance = saga::from_record(**found);
  if (!instance.ok()) {
    history.problem = instance.error().message;
    return std::optional(std::move(history));
  }
  std::vector<SagaHistoryEntry> all;
  for (bool more = true; more;) {
    const auto last = all.empty() ? 0 : all.back().number;
    auto page = store_->saga_admin()->history(id, last, history_rows);
    if (!page.ok()) return page.error();
    more = page->size() == history_rows;
    all.insert(all.end(), page->begin(), page->end());
  }
  // Entries written after the record was read are not errors of the history.
  std::erase_if(all, [&](const auto& entry) { return entry.number > instance->history_number; });
  history.problem = saga::verify_history(all, *instance);
  return std::optional(std::move(history));
}

Result<std::optional<SagaExplanation>> SagaAdmin::explain(const SagaId& id) const {
  const auto found = record(id);
  if (!found.ok()) return found.error();
  if (!*found) return std::optional<SagaExplanation>();
  const auto& row = **found;
  const auto stored = store_->sagas()->definitions(row.definition);
  if (!stored.ok()) return stored.error();
  admin::SagaFacts facts{
      .view = admin::saga_view(row, admin::definition_of(*stored, row), Admin::PayloadToo::no,
                               options_.clock->wall_now()),
      .shard = row.shard};
  auto commands = store_->saga_admin()->pending(id, commands_explained);
  if (!commands.ok()) return commands.error();
  facts.commands = *std::move(commands);
  auto owners = store_->ownership().census(saga_scope(row.definition));
  if (!owners.ok()) return owners.error();
  facts.owners = *std::move(owners);
  return std::optional(admin::explain(facts));
}

Result<std::vector<SagaCommand>> SagaAdmin::pending(const SagaId& id,
                                                    std::uint32_t commands_max) const {
  if (auto status = admin::check_rows("commands_max", commands_max, rows_max); !status.ok()) {
    return status.error();
  }
  auto commands = store_->saga_admin()->pending(id, commands_max);
  if (!commands.ok()) return commands;
  if (options_.tenant) {
    std::erase_if(*commands,
                  [&](const auto& command) { return command.tenant != *options_.tenant; });
  }
  for (auto& command : *commands) command.body.clear();
  return commands;
}

Result<std::vector<SagaCounted>> SagaAdmin::count() const {
  const auto counts = store_->saga_admin()->count(options_.tenant);
  if (!counts.ok()) return counts.error();
  std::vector<SagaCounted> counted;
  counted.reserve(counts->size());
  for (const auto& one : *counts) {
    counted.push_back({one.definition, one.state, one.sagas, one.oldest});
  }
  return counted;
}

Result<std::vector<SagaDefinitionRecord>> SagaAdmin::definitions(std::string_view name) const {
  return store_->sagas()->definitions(name);
}

Result<SagaDefinitionRecord> SagaAdmin::define(const SagaDefinition& definition) {
  if (auto status = admin::everybodys(options_, "a definition"); !status.ok()) {
    return status.error();
  }
  if (auto status = definition.check(); !status.ok()) return status.error();
  const auto record = definition.record(options_.clock->wall_now());
  if (auto status = store_->sagas()->define(record); !status.ok()) return status.error();
  const auto stored = store_->sagas()->definitions(record.name);
  if (!stored.ok()) return stored.error();
  for (const auto& one : *stored) {
    if (one.version == record.version) return one;
  }
  return record;
}

Result<std::uint64_t> SagaAdmin::purge(std::string_view definition, Duration older_than) {
  if (auto status = admin::everybodys(options_, "a purge"); !status.ok()) return status.error();
  if (definition.empty()) {
    return admin::wrong("definition: empty; say whose sagas are removed");
  }
  if (older_than < Duration::zero()) return admin::wrong("older_than: below zero; give 0 or more");
  std::uint64_t all = 0;
  for (;;) {
    const auto removed = store_->saga_admin()->purge(definition, older_than, purge_rows);
    if (!removed.ok()) return removed.error();
    all += *removed;
    if (*removed < purge_rows) break;
  }
  options_.log->log(
      LogLevel::info, "sagas purged",
      {{"definition", definition}, {"actor", std::string_view(options_.actor)}, {"sagas", all}});
  return all;
}

}  // namespace sagabox
