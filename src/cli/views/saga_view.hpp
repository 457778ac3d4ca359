#pragma once

#include "cli/terminal.hpp"

#include <sagabox/saga_admin.hpp>

#include <span>
#include <string>
#include <vector>

/// Sagas as lines. Pure.
namespace sagabox::cli {

/// A line for each, or one that there is none.
std::vector<Line> saga_list(std::span<const SagaView> sagas);
/// One saga, with a line for each step, and input and outputs if the view has them.
std::vector<Line> saga_details(const SagaView& saga);
/// A line for each step that has changed, and for the saga itself; for all that was reached if
/// `before` is null.
std::vector<Line> saga_changes(const SagaView* before, const SagaView& saga);
/// The result of an action on one of several sagas.
struct SagaActed {
  SagaId saga{};
  bool applied = false;
  std::string text{};  ///< the reason if it failed
};
Line saga_acted_line(const SagaActed& acted, SagaCommandKind kind);
std::vector<Line> saga_history_list(const SagaHistory& history);
std::vector<Line> saga_count_list(std::span<const SagaCounted> counts);
std::vector<Line> saga_definition_list(std::span<const SagaDefinitionRecord> definitions);

}  // namespace sagabox::cli
