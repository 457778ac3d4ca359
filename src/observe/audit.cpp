#include <sagabox/audit.hpp>

namespace sagabox {
namespace {

class NoAudit final : public Audit {
 public:
  [[nodiscard]] bool wants(AuditKind) const noexcept override { return false; }
  void record(const AuditEvent&) noexcept override {}
};

}  // namespace

std::string_view audit_name(AuditKind kind) noexcept {
  switch (kind) {
    case AuditKind::tx_outbox_enqueued:
      return "TxOutboxEnqueued";
    case AuditKind::tx_outbox_dispatched:
      return "TxOutboxDispatched";
    case AuditKind::tx_outbox_failed:
      return "TxOutboxFailed";
    case AuditKind::retry:
      return "Retry";
    case AuditKind::backoff:
      return "Backoff";
    case AuditKind::dead_letter:
      return "DeadLetter";
    case AuditKind::tx_replay_requested:
      return "TxReplayRequested";
  }
  return "Unknown";
}

Audit& no_audit() {
  static NoAudit audit;
  return audit;
}

}  // namespace sagabox
