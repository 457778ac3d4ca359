#include "core/immortal.hpp"

#include <sagabox/audit.hpp>

#include <algorithm>
#include <array>

namespace sagabox {
namespace {

class NoAudit final : public Audit {
 public:
  [[nodiscard]] bool wants(AuditKind) const noexcept override { return false; }
  void record(const AuditEvent&) noexcept override {}
};

/// By kind. Names are part of the hashes of stored entries: a changed name would make old entries
/// look edited.
constexpr std::array<std::string_view, audit_kind_count> names{"TxOutboxEnqueued",
                                                               "TxOutboxDispatched",
                                                               "TxOutboxFailed",
                                                               "Retry",
                                                               "Backoff",
                                                               "DeadLetter",
                                                               "TxReplayRequested",
                                                               "Replayed",
                                                               "ReplayStopped",
                                                               "ReplayResumed",
                                                               "ReplayFailed",
                                                               "ReplayFinished",
                                                               "Quarantined",
                                                               "Released",
                                                               "Paused",
                                                               "Resumed",
                                                               "Purged",
                                                               "TxSagaStarted",
                                                               "TxSagaStepDone",
                                                               "TxSagaCompensate",
                                                               "TxSagaCompleted",
                                                               "TxSagaFailed",
                                                               "SagaCancelled",
                                                               "SagaCompensated",
                                                               "SagaApproved",
                                                               "SagaStepSet",
                                                               "HubSubscriptionCreated",
                                                               "HubSubscriptionChanged",
                                                               "HubSubscriptionVerified",
                                                               "HubSubscriptionPaused",
                                                               "HubSubscriptionResumed",
                                                               "HubSubscriptionDisabled",
                                                               "HubSubscriptionEnabled",
                                                               "HubSecretCreated",
                                                               "HubEndpointPinged",
                                                               "HubDeliveryRequeued"};

}  // namespace

std::string_view audit_name(AuditKind kind) noexcept {
  const auto at = static_cast<std::size_t>(kind);
  return at < names.size() ? names[at] : "Unknown";
}

std::optional<AuditKind> audit_from_name(std::string_view name) noexcept {
  const auto* const found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<AuditKind>(found - names.begin());
}

Audit& no_audit() { return immortal<NoAudit>(); }

}  // namespace sagabox
