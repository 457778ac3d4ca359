#pragma once

#include "cli/terminal.hpp"

#include <sagabox/saga_admin.hpp>

#include <span>
#include <vector>

/// Sagas as lines. Pure.
namespace sagabox::cli {

/// A line each, or that there is none.
std::vector<Line> saga_list(std::span<const SagaView> sagas);
/// One saga, a line a step; input and outputs where the view has them.
std::vector<Line> saga_details(const SagaView& saga);
std::vector<Line> saga_history_list(const SagaHistory& history);
std::vector<Line> saga_count_list(std::span<const SagaCounted> counts);
std::vector<Line> saga_definition_list(std::span<const SagaDefinitionRecord> definitions);

}  // namespace sagabox::cli
