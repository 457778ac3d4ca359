#pragma once

#include <sagabox/payload.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
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
  // Operator acts, in our own words.
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
  // Sagas, as the source documents have them, and what operators do to them.
  tx_saga_started,
  tx_saga_step_done,
  tx_saga_compensate,
  tx_saga_completed,
  tx_saga_failed,
  saga_cancelled,
  saga_compensated,
  saga_approved,
  saga_step_set,
  // What operators and customers do to the delivery hub.
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
  std::string actor;   ///< who did it; empty: the engine
  friend bool operator==(const AuditEvent&, const AuditEvent&) = default;
};

/// One entry of the audit log. `hash` covers the event, the number and the hash before.
struct AuditEntry {
  std::uint64_t number = 0;  ///< from 1, without a gap
  AuditEvent event{};
  Digest previous{};
  Digest hash{};
  friend bool operator==(const AuditEntry&, const AuditEntry&) = default;
};

/// Where a log ends: the number and hash of its last entry; zeros when it is empty.
struct AuditHead {
  std::uint64_t number = 0;
  Digest hash{};
  friend bool operator==(const AuditHead&, const AuditHead&) = default;
};

/// The entry that follows `head`. Times are kept to the microsecond, as databases do.
AuditEntry chain(const AuditHead& head, AuditEvent event);

/// Checks a log entry by entry, in order.
class AuditVerifier {
 public:
  /// `from`: the end of the part that was checked before. Nothing is said about that part.
  explicit AuditVerifier(AuditHead from = {}) : head_(from) {}
  /// What is wrong with this entry as the next one; empty: nothing. After a fault it goes on from
  /// what the entry says of itself, so that one edit is reported once.
  std::string next(const AuditEntry& entry);
  /// Whether the log ends where it should: finds a cut tail.
  [[nodiscard]] std::string end(const AuditHead& head) const;
  [[nodiscard]] const AuditHead& head() const noexcept { return head_; }

 private:
  AuditHead head_;
  /// The hash that the last entry should have, where it has another: either may be the edited one,
  /// and the next entry tells which.
  std::optional<Digest> should_be_;
};

/// The end that a log had when it was last looked at, kept elsewhere. A log that was written anew
/// has another entry there, or none.
class AuditAnchor {
 public:
  explicit AuditAnchor(AuditHead kept) : kept_(kept) {}
  /// For every entry from the first on, with its number and hash. Returns what is wrong; empty if
  /// nothing is.
  std::string next(const AuditHead& entry);
  /// After the last entry. `head` is where the log says that it ends.
  [[nodiscard]] std::string end(const AuditHead& head) const;

 private:
  AuditHead kept_;
  bool met_ = false;
};

/// One line of the export, without the line's end. Text that is not UTF-8 is written as
/// `{"hex":"…"}`, so that every entry comes back exactly.
std::string audit_json(const AuditEntry& entry);
/// Error SCHEMA.VALIDATION_FAILED that says what the line lacks.
Result<AuditEntry> audit_from_json(std::string_view line);

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
