#include <sagabox/saga_record.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace sagabox {
namespace {

constexpr std::array<std::string_view, saga_state_count> saga_state_names{
    "running", "compensating", "paused", "completed", "cancelled", "failed"};

/// The names that are stored.
constexpr std::array<std::string_view, saga_person_wait_count> saga_person_wait_names{
    "", "decision", "approval"};
constexpr std::array<std::string_view, saga_command_kind_count> saga_command_names{
    "start",  "reply",      "signal",   "approve", "pause",      "resume",
    "cancel", "compensate", "set_step", "replay",  "quarantine", "release"};

}  // namespace

SagaId saga_id_of(std::string_view tenant, std::string_view definition, std::string_view key) {
  constexpr std::size_t digits = 32;
  std::string text;
  text.reserve(tenant.size() + definition.size() + key.size() + 2);
  // Names and keys are printable, so different triples never give the same text.
  text.append(tenant).append(1, '\n').append(definition).append(1, '\n').append(key);
  return SagaId::parse("k" + hex(sha256(text)).substr(0, digits)).value();
}

std::string_view saga_state_name(SagaState state) noexcept {
  return saga_state_names[static_cast<std::size_t>(state)];
}

std::optional<SagaState> saga_state_from_name(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(saga_state_names, name);
  if (found == saga_state_names.end()) return std::nullopt;
  return static_cast<SagaState>(found - saga_state_names.begin());
}

std::string_view saga_person_wait_name(SagaPersonWait wait) noexcept {
  return saga_person_wait_names[static_cast<std::size_t>(wait)];
}

std::optional<SagaPersonWait> saga_person_wait_from_name(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(saga_person_wait_names, name);
  if (found == saga_person_wait_names.end()) return std::nullopt;
  return static_cast<SagaPersonWait>(found - saga_person_wait_names.begin());
}

std::string_view saga_command_name(SagaCommandKind kind) noexcept {
  return saga_command_names[static_cast<std::size_t>(kind)];
}

std::optional<SagaCommandKind> saga_command_from_name(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(saga_command_names, name);
  if (found == saga_command_names.end()) return std::nullopt;
  return static_cast<SagaCommandKind>(found - saga_command_names.begin());
}

}  // namespace sagabox
