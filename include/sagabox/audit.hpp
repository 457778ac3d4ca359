#pragma once

#include <sagabox/payload.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace sagabox {

/// Names as the source documents have them.
enum class AuditKind : std::uint8_t {
  tx_outbox_enqueued,
  tx_outbox_dispatched,
  tx_outbox_failed,
  retry,
  backoff,
  dead_letter,
  tx_replay_requested,
};

/// "TxOutboxEnqueued", "DeadLetter" …
std::string_view audit_name(AuditKind kind) noexcept;

/// What happened to whom. Digests only, never a payload.
struct AuditEvent {
  AuditKind kind = AuditKind::tx_outbox_enqueued;
  WallTime at{};
  std::string table;
  std::string tenant;
  std::string topic;
  std::string message_id;
  std::uint32_t attempt = 0;
  Digest digest{};
  std::string traceparent;
  std::string code;    ///< error code, where there is one
  std::string detail;  ///< bounded text
};

/// Where audit events go. Safe to call from any thread; must not throw.
class Audit {
 public:
  virtual ~Audit() = default;
  /// Whether anybody wants events of this kind; asked before one is put together.
  [[nodiscard]] virtual bool wants(AuditKind kind) const noexcept = 0;
  virtual void record(const AuditEvent& event) noexcept = 0;
};

Audit& no_audit();

}  // namespace sagabox
