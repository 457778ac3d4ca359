#pragma once

#include <sagabox/saga_admin.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace sagabox::admin {

/// The stored definition that a saga was started with; nullopt if it is not stored, or a newer
/// version wrote it.
std::optional<SagaDefinition> definition_of(std::span<const SagaDefinitionRecord> stored,
                                            const SagaRecord& record);

/// Without steps and payloads. Pure, like `saga_view`.
SagaView saga_summary(const SagaRecord& record, WallTime now);
/// `definition` is nullopt if it is unknown.
SagaView saga_view(const SagaRecord& record, const std::optional<SagaDefinition>& definition,
                   Admin::PayloadToo payload, WallTime now);

/// Steps are listed in the order of their first start. True for states from the step's own
/// compensation on.
constexpr bool goes_back(SagaStepState state) noexcept { return state >= SagaStepState::undoing; }

}  // namespace sagabox::admin
