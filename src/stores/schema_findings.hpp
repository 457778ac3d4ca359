#pragma once

#include "stores/schema_steps.hpp"

#include <sagabox/spi/doctor_store.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the doctors of all databases say alike.
namespace sagabox::schema {

/// The indexes that a step makes for each outbox, as it names them: `{table}_outbox_id`. Those it
/// drops are not among them.
inline std::vector<std::string> index_names(std::string_view table_up) {
  constexpr std::string_view before = "INDEX \"";
  std::vector<std::string> names;
  for (auto at = table_up.find(before); at != std::string_view::npos;
       at = table_up.find(before, at)) {
    const bool dropped = table_up.substr(0, at).ends_with("DROP ");
    at += before.size();
    if (dropped) continue;
    names.emplace_back(table_up.substr(at, table_up.find('"', at) - at));
  }
  return names;
}

/// The indexes of an outbox; several steps may make the same one anew.
inline std::set<std::string> all_index_names(std::span<const Engine> engines) {
  std::set<std::string> names;
  for (const auto& engine : engines) {
    for (const auto& step : engine.steps) {
      for (auto& name : index_names(step.table_up)) names.insert(std::move(name));
    }
  }
  return names;
}

/// Of steps that were not applied, one for all of them.
inline std::vector<spi::Finding> of_steps(std::span<const spi::SchemaStep> steps) {
  const auto missing = static_cast<std::size_t>(std::ranges::count_if(
      steps, [](const spi::SchemaStep& step) { return !step.applied_at.has_value(); }));
  if (missing == 0) return {};
  if (missing == steps.size()) {
    return {{Severity::error, "the schema has not been made yet",
             "make it and an outbox: sagabox migrate up --table NAME"}};
  }
  return {{Severity::error,
           std::to_string(missing) + " of " + std::to_string(steps.size()) +
               " steps of the schema have not been applied; this version needs them",
           "sagabox migrate up"}};
}

/// Of steps that were applied by other SQL than this version's, one for each.
inline std::vector<spi::Finding> differing(std::span<const spi::SchemaStep> steps) {
  std::vector<spi::Finding> findings;
  for (const auto& step : steps) {
    if (!step.checksum_differs) continue;
    findings.push_back(
        {Severity::warning,
         "step " + std::to_string(step.number) + " of the schema (" + step.name +
             (step.outbox.empty() ? "" : ", outbox " + step.outbox) +
             ") was applied by other SQL than this version's: the tables may differ",
         "find out which build made it; deliver what is pending, then sagabox migrate down --to " +
             std::to_string(step.number - 1) + " with that build and migrate up with this one"});
  }
  return findings;
}

inline spi::Finding missing_audit_head(const std::string& table) {
  return {Severity::error,
          "the head row of the audit log is missing (table " + table +
              "): no message can die, and no operator can act, until it is back",
          "find out who deleted it, compare the log with the anchor that was kept (sagabox audit "
          "verify), then put the row back: docs/operating.md, \"The audit log\""};
}

inline spi::Finding missing_index(const std::string& table, const std::string& index) {
  return {Severity::error,
          "outbox " + table + ": index " + index + " is missing or not valid; reads scan the table",
          "make it again as the schema has it (docs/stores), or restore the database"};
}

}  // namespace sagabox::schema
