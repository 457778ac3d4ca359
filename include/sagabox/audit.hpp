#pragma once

#include <sagabox/payload.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox {

/// The names are those of the source documents.
enum class AuditKind : std::uint8_t {
  tx_outbox_enqueued,
  tx_outbox_dispatched,
  tx_outbox_failed,
  retry,
  backoff,
  dead_letter,
  tx_replay_requested,
  // Operator acts; these names are ours.
  replayed,
  replay_stopped,
  replay_resumed,
  replay_failed,
  replay_finished,
  quarantined,
  released,
  paused,
  resumed,
  purged,
  // Sagas, named as in the source documents, and acts of operators on them.
  tx_saga_started,
  tx_saga_step_done,
  tx_saga_compensate,
  tx_saga_completed,
  tx_saga_failed,
  saga_cancelled,
  saga_compensated,
  saga_approved,
  saga_step_set,
  // Acts of operators and customers on the delivery hub.
  hub_subscription_created,
  hub_subscription_changed,
  hub_subscription_verified,
  hub_subscription_paused,
  hub_subscription_resumed,
  hub_subscription_disabled,
  hub_subscription_enabled,
  hub_secret_created,
  hub_endpoint_pinged,
  hub_delivery_requeued,
};
inline constexpr std::size_t audit_kind_count = 36;

/// "TxOutboxEnqueued", "DeadLetter" …
std::string_view audit_name(AuditKind kind) noexcept;
std::optional<AuditKind> audit_from_name(std::string_view name) noexcept;

/// One event of the audit log. It contains digests only, never a payload.
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
  std::string actor;   ///< the user or service that acted; empty: the engine
  friend bool operator==(const AuditEvent&, const AuditEvent&) = default;
};

/// One entry of the audit log. `hash` covers the event, the number and the previous hash.
struct AuditEntry {
  std::uint64_t number = 0;  ///< from 1, without a gap
  AuditEvent event{};
  Digest previous{};
  Digest hash{};
  friend bool operator==(const AuditEntry&, const AuditEntry&) = default;
};

/// The end of a log: the number and hash of its last entry; zeros if the log is empty.
struct AuditHead {
  std::uint64_t number = 0;
  Digest hash{};
  friend bool operator==(const AuditHead&, const AuditHead&) = default;
};

/// Returns the entry that follows `head`. Times have microsecond precision, as in databases.
AuditEntry chain(const AuditHead& head, AuditEvent event);

/// Checks a log entry by entry, in order.
class AuditVerifier {
 public:
  /// `from`: the end of the part that was checked before. That part is not checked again.
  explicit AuditVerifier(AuditHead from = {}) : head_(from) {}
  /// Returns what is wrong with this entry as the next one; empty if it is correct. After a fault
  /// the check continues with the values of the entry itself, so one edit is reported once.
  std::string next(const AuditEntry& entry);
  /// Detects a truncated log. Returns what is wrong; empty if the log ends at `head`.
  [[nodiscard]] std::string end(const AuditHead& head) const;
  [[nodiscard]] const AuditHead& head() const noexcept { return head_; }

 private:
  AuditHead head_;
  /// The expected hash of the last entry, if its stored hash differs: either the event or the hash
  /// was changed, and the next entry shows which.
  std::optional<Digest> should_be_;
};

/// Compares a log with its end at an earlier check, which was stored elsewhere. A rewritten log has
/// another entry at that number, or none.
class AuditAnchor {
 public:
  explicit AuditAnchor(AuditHead kept) : kept_(kept) {}
  /// Call it for every entry from the first, with its number and hash. Returns what is wrong; empty
  /// if nothing is.
  std::string next(const AuditHead& entry);
  /// Call it after the last entry. `head` is the end that the log has recorded.
  [[nodiscard]] std::string end(const AuditHead& head) const;

 private:
  AuditHead kept_;
  bool met_ = false;
};

/// One line of the export, without the newline. Text that is not UTF-8 is written as `{"hex":"…"}`,
/// so that reading it back gives exactly the same entry.
std::string audit_json(const AuditEntry& entry);
/// SCHEMA.VALIDATION_FAILED says what is missing or wrong in the line.
Result<AuditEntry> audit_from_json(std::string_view line);

/// Receives audit events. Safe to call from any thread; must not throw.
class Audit {
 public:
  virtual ~Audit() = default;
  /// Whether events of this kind are recorded; called before an event is built.
  [[nodiscard]] virtual bool wants(AuditKind kind) const noexcept = 0;
  virtual void record(const AuditEvent& event) noexcept = 0;
};

Audit& no_audit();

}  // namespace sagabox
