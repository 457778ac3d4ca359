#pragma once

#include "cli/terminal.hpp"

#include <sagabox/saga_admin.hpp>

#include <span>
#include <string>
#include <vector>

/// Sagas as lines. Pure.
namespace sagabox::cli {

/// A line each, or that there is none.
std::vector<Line> saga_list(std::span<const SagaView> sagas);
/// One saga, a line a step; input and outputs where the view has them.
std::vector<Line> saga_details(const SagaView& saga);
/// A line for each step that is not where it was, and for the saga itself; all that was reached
/// where `before` is null.
std::vector<Line> saga_changes(const SagaView* before, const SagaView& saga);
/// The result of an act on one saga of several.
struct SagaActed {
  SagaId saga{};
  bool applied = false;
  std::string text{};  ///< why not
};
Line saga_acted_line(const SagaActed& acted, SagaCommandKind kind);
std::vector<Line> saga_history_list(const SagaHistory& history);
std::vector<Line> saga_count_list(std::span<const SagaCounted> counts);
std::vector<Line> saga_definition_list(std::span<const SagaDefinitionRecord> definitions);

}  // namespace sagabox::cli
