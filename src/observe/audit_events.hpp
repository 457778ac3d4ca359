#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/error.hpp>
#include <sagabox/idempotency_record.hpp>
#include <sagabox/message.hpp>
#include <sagabox/records.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The events that stores put into the audit log in their own transactions, so that all stores say
/// the same.
namespace sagabox {

/// No detail is longer.
inline constexpr std::size_t audit_detail_bytes_max = 512;

/// A message that something happens to, as it was before.
struct AuditedMessage {
  const TableName& table;
  const MessageId& id;
  const Message* message = nullptr;  ///< null where it cannot be decoded
  std::uint32_t attempts = 0;
};

AuditEvent dead_letter_event(const AuditedMessage& of, Code code, std::string_view error,
                             WallTime at);
/// replayed, quarantined, released or purged.
AuditEvent operator_event(AuditKind kind, const AuditedMessage& of, const std::string& actor,
                          std::string_view note, WallTime at);
AuditEvent pause_event(const TableName& table, const std::string& topic, bool paused,
                       const std::string& actor, std::string_view note, WallTime at);

/// Of a job that somebody brings into this state.
AuditKind audit_kind(ReplayJob::State to) noexcept;
/// tx_replay_requested, replay_stopped, replay_resumed, replay_failed or replay_finished.
AuditEvent job_event(AuditKind kind, const ReplayJob& job, const std::string& actor, WallTime at);
/// A batch of a job: so many messages, the first and the last of them.
AuditEvent batch_event(const ReplayJob& job, std::uint64_t rows, Sequence first, Sequence last,
                       WallTime at);

/// An operator removed this record of a request, or so many that had expired.
AuditEvent idempotency_purge_event(const std::optional<IdempotencyKey>& key, std::uint64_t rows,
                                   const std::string& actor, std::string_view note, WallTime at);

/// The row that says where the log ends is missing or cannot be changed. Nothing can be added until
/// an operator has put it back, so it is not retryable, and no fault of the message that is
/// settled.
Error no_audit_head(std::string_view head_table);

/// "tenant acme, topic orders.order.placed.v1, sequences 5 to 90"; "all" where nothing is asked.
std::string filter_text(const MessageFilter& filter);

}  // namespace sagabox
