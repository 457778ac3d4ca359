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

/// The events that stores write to the audit log in their own transactions; defined here so that
/// all stores write the same.
namespace sagabox {

/// The maximum length of a detail.
inline constexpr std::size_t audit_detail_bytes_max = 512;

/// A message before the audited act.
struct AuditedMessage {
  const TableName& table;
  const MessageId& id;
  const Message* message = nullptr;  ///< null if it cannot be decoded
  std::uint32_t attempts = 0;
};

AuditEvent dead_letter_event(const AuditedMessage& of, Code code, std::string_view error,
                             WallTime at);
/// replayed, quarantined, released or purged.
AuditEvent operator_event(AuditKind kind, const AuditedMessage& of, const std::string& actor,
                          std::string_view note, WallTime at);
AuditEvent pause_event(const TableName& table, const std::string& topic, bool paused,
                       const std::string& actor, std::string_view note, WallTime at);

/// The kind of the event for a change of a job to this state.
AuditKind audit_kind(ReplayJob::State to) noexcept;
/// tx_replay_requested, replay_stopped, replay_resumed, replay_failed or replay_finished.
AuditEvent job_event(AuditKind kind, const ReplayJob& job, const std::string& actor, WallTime at);
/// A replayed batch of a job: the number of messages, and the first and last sequence.
AuditEvent batch_event(const ReplayJob& job, std::uint64_t rows, Sequence first, Sequence last,
                       WallTime at);

/// An operator removed this record of a request, or `rows` expired records.
AuditEvent idempotency_purge_event(const std::optional<IdempotencyKey>& key, std::uint64_t rows,
                                   const std::string& actor, std::string_view note, WallTime at);

/// The row with the end of the log is missing or cannot be changed. Nothing can be appended until
/// an operator has restored it, so the error is not retryable, and it is not caused by the settled
/// message.
Error no_audit_head(std::string_view head_table);

/// "tenant acme, topic orders.order.placed.v1, sequences 5 to 90"; "all" for an empty filter.
std::string filter_text(const MessageFilter& filter);

}  // namespace sagabox
