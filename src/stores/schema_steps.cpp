#include "stores/schema_steps.hpp"

#include <sagabox/payload.hpp>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

namespace sagabox::schema {

std::string Part::text() const {
  return "step " + std::to_string(step->number) + " (" + std::string(step->name) +
         (outbox.empty() ? "" : ", outbox " + outbox) + ")";
}

Result<const Engine*> find_engine(std::span<const Engine> engines, std::string_view name) {
  const auto found = std::ranges::find(engines, name, &Engine::name);
  if (found != engines.end()) return &*found;
  std::string names;
  for (const auto& engine : engines) {
    names += (names.empty() ? "" : ", ") + std::string(engine.name);
  }
  return Error{Code::config_invalid,
               "there is no engine \"" + std::string(name) + "\"; this version has " + names};
}

Status check_up(const Engine& engine, const spi::SchemaUp& request) {
  const bool has_outboxes = std::ranges::any_of(
      engine.steps, [](const Migration& step) { return !step.table_up.empty(); });
  if (has_outboxes || !request.outbox) return {};
  return Error{Code::config_invalid, "engine " + std::string(engine.name) + " has no outboxes; \"" +
                                         request.outbox->str() + "\" cannot be made in it"};
}

Status check_down(const spi::SchemaDown& request) {
  if (request.to && *request.to >= 0) return {};
  return Error{Code::config_invalid,
               "name the last step that stays, 1 or more, or 0 to remove everything"};
}

Result<std::vector<TableName>> outboxes_of(std::span<const Applied> applied) {
  std::set<std::string> names;
  for (const auto& step : applied) {
    if (!step.outbox.empty()) names.insert(step.outbox);
  }
  std::vector<TableName> outboxes;
  for (const auto& name : names) {
    auto parsed = TableName::parse(name);
    if (!parsed.ok()) return parsed.error();
    outboxes.push_back(*std::move(parsed));
  }
  return outboxes;
}

std::vector<Part> missing(const Engine& engine, std::span<const Applied> applied,
                          std::span<const TableName> outboxes) {
  std::set<std::pair<int, std::string>> done;
  for (const auto& step : applied) done.emplace(step.number, step.outbox);
  std::vector<Part> parts;
  const auto look_at = [&](const Migration& step, const std::string& outbox) {
    if (!done.contains({step.number, outbox})) parts.push_back({&step, outbox});
  };
  for (const auto& step : engine.steps) {
    look_at(step, "");
    for (const auto& outbox : outboxes) look_at(step, outbox.str());
  }
  return parts;
}

Result<std::vector<Part>> removable(const Engine& engine, std::span<const Applied> applied,
                                    int to) {
  std::vector<const Applied*> above;
  for (const auto& step : applied) {
    if (step.number > to) above.push_back(&step);
  }
  std::ranges::sort(above, [](const Applied* a, const Applied* b) {
    return std::pair(a->number, a->outbox) > std::pair(b->number, b->outbox);
  });
  std::vector<Part> parts;
  for (const auto* step : above) {
    if (std::cmp_greater(step->number, engine.steps.size())) {
      return Error{Code::tx_invalid_state, "step " + std::to_string(step->number) +
                                               " was made by a newer version of sagabox; take it "
                                               "back with that one"};
    }
    parts.push_back({&engine.steps[static_cast<std::size_t>(step->number - 1)], step->outbox});
  }
  return parts;
}

std::string checksum(const std::string& sql) { return hex(sha256(sql)); }

std::vector<spi::SchemaStep> status_of(const Engine& engine, std::span<const Applied> applied,
                                       std::span<const TableName> outboxes,
                                       std::string (*reference)(std::string_view sql)) {
  std::vector<spi::SchemaStep> all;
  const auto add = [&](const Migration& step, const std::string& outbox) {
    const Part part{&step, outbox};
    spi::SchemaStep& made = all.emplace_back(spi::SchemaStep{.engine = std::string(engine.name),
                                                             .number = step.number,
                                                             .name = std::string(step.name),
                                                             .outbox = outbox});
    const auto found = std::ranges::find_if(applied, [&](const Applied& one) {
      return one.number == step.number && one.outbox == outbox;
    });
    if (found == applied.end()) return;
    made.applied_at = found->at;
    made.checksum_differs =
        !found->checksum.empty() && found->checksum != checksum(reference(part.up()));
  };
  for (const auto& step : engine.steps) {
    add(step, "");
    for (const auto& outbox : outboxes) add(step, outbox.str());
  }
  return all;
}

std::vector<spi::SchemaStep> shown(std::vector<spi::SchemaStep> steps) {
  std::set<std::string> made;
  for (const auto& step : steps) {
    if (step.applied_at) made.insert(step.engine);
  }
  if (!made.empty()) {
    std::erase_if(steps, [&](const spi::SchemaStep& step) { return !made.contains(step.engine); });
  }
  return steps;
}

}  // namespace sagabox::schema
