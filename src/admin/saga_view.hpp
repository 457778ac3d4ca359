#pragma once

#include <sagabox/saga_admin.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace sagabox::admin {

/// The definition that a saga was started with, of those stored; null: it is not among them, or a
/// newer version wrote it.
std::optional<SagaDefinition> definition_of(std::span<const SagaDefinitionRecord> stored,
                                            const SagaRecord& record);

/// Without steps and payloads. Pure, as the other.
SagaView saga_summary(const SagaRecord& record, WallTime now);
/// `definition` is null where it is not known.
SagaView saga_view(const SagaRecord& record, const std::optional<SagaDefinition>& definition,
                   Admin::PayloadToo payload, WallTime now);

/// In the order of their first start: back, from its own undoing on.
constexpr bool goes_back(SagaStepState state) noexcept { return state >= SagaStepState::undoing; }

}  // namespace sagabox::admin
