#include "observe/audit_events.hpp"

#include "core/error_text.hpp"
#include "core/text.hpp"

namespace sagabox {
namespace {

std::string detail(std::string_view text) { return clean_error(text, audit_detail_bytes_max); }

AuditEvent event_of(AuditKind kind, const AuditedMessage& of, WallTime at) {
  AuditEvent event;
  event.kind = kind;
  event.at = at;
  event.table = of.table.str();
  event.message_id = of.id.str();
  event.attempt = of.attempts;
  if (of.message != nullptr) {
    event.tenant = of.message->tenant();
    event.topic = of.message->topic();
    event.digest = of.message->digest();
    event.traceparent = of.message->trace().traceparent;
  }
  return event;
}

AuditEvent event_of(AuditKind kind, const ReplayJob& job, WallTime at) {
  AuditEvent event;
  event.kind = kind;
  event.at = at;
  event.table = job.table;
  event.tenant = job.filter.tenant.value_or("");
  event.topic = job.filter.topic.value_or("");
  return event;
}

std::string name_of(const ReplayJob& job) { return "job " + std::to_string(job.id.value); }

std::string progress_of(const ReplayJob& job) {
  return name_of(job) + ": " + std::to_string(job.replayed) + " replayed of " +
         std::to_string(job.matched) + " that matched";
}

std::string job_detail(AuditKind kind, const ReplayJob& job) {
  if (kind == AuditKind::tx_replay_requested) {
    return name_of(job) + ": " + std::string(state_name(job.from)) + " messages, " +
           filter_text(job.filter) + "; " + std::to_string(job.matched) + " match" +
           (job.rate_max == 0 ? "" : ", at most " + std::to_string(job.rate_max) + " a second") +
           (job.as_new ? ", as new" : "");
  }
  if (kind == AuditKind::replay_failed) return progress_of(job) + "; " + job.error;
  return progress_of(job);
}

std::string sequences_text(const MessageFilter& filter) {
  std::string text = "sequences";
  if (filter.first) text += " from " + std::to_string(filter.first->value);
  if (filter.last) text += " up to " + std::to_string(filter.last->value);
  return text;
}

}  // namespace

AuditEvent dead_letter_event(const AuditedMessage& of, Code code, std::string_view error,
                             WallTime at) {
  auto event = event_of(AuditKind::dead_letter, of, at);
  event.code = code_name(code);
  event.detail = detail(error);
  return event;
}

AuditEvent operator_event(AuditKind kind, const AuditedMessage& of, const std::string& actor,
                          std::string_view note, WallTime at) {
  auto event = event_of(kind, of, at);
  event.detail = detail(note);
  event.actor = actor;
  return event;
}

AuditEvent pause_event(const TableName& table, const std::string& topic, bool paused,
                       const std::string& actor, std::string_view note, WallTime at) {
  AuditEvent event;
  event.kind = paused ? AuditKind::paused : AuditKind::resumed;
  event.at = at;
  event.table = table.str();
  event.topic = topic;
  event.detail = detail(note);
  event.actor = actor;
  return event;
}

AuditKind audit_kind(ReplayJob::State to) noexcept {
  if (to == ReplayJob::State::running) return AuditKind::replay_resumed;
  return to == ReplayJob::State::stopped ? AuditKind::replay_stopped : AuditKind::replay_failed;
}

AuditEvent job_event(AuditKind kind, const ReplayJob& job, const std::string& actor, WallTime at) {
  auto event = event_of(kind, job, at);
  event.detail = detail(job_detail(kind, job));
  event.actor = actor;
  return event;
}

AuditEvent batch_event(const ReplayJob& job, std::uint64_t rows, Sequence first, Sequence last,
                       WallTime at) {
  auto event = event_of(AuditKind::replayed, job, at);
  event.detail = name_of(job) + ": " + std::to_string(rows) + " messages, sequences " +
                 std::to_string(first.value) + " to " + std::to_string(last.value);
  event.actor = job.actor;
  return event;
}

AuditEvent idempotency_purge_event(const std::optional<IdempotencyKey>& key, std::uint64_t rows,
                                   const std::string& actor, std::string_view note, WallTime at) {
  AuditEvent event;
  event.kind = AuditKind::purged;
  event.at = at;
  event.table = "idempotency";
  std::string what = std::to_string(rows) + " expired records of requests";
  if (key) {
    event.tenant = key->tenant;
    event.topic = key->consumer;
    what = "the record of request " + quoted(key->key);
  }
  event.detail = detail(note.empty() ? what : what + "; " + std::string(note));
  event.actor = actor;
  return event;
}

Error no_audit_head(std::string_view head_table) {
  return {Code::config_invalid,
          "the head row of the audit log, in table " + std::string(head_table) +
              ", is missing or cannot be changed, and without it nothing can be added to the log; "
              "sagabox doctor and sagabox audit verify tell more"};
}

std::string filter_text(const MessageFilter& filter) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
  };
  if (filter.tenant) add("tenant " + *filter.tenant);
  if (filter.topic) add("topic " + *filter.topic);
  if (filter.aggregate_type) add("aggregate type " + *filter.aggregate_type);
  if (filter.key) add("key " + quoted(*filter.key));
  if (filter.code) add("code " + std::string(code_name(*filter.code)));
  if (filter.from) add("from " + utc_text(*filter.from));
  if (filter.until) add("until " + utc_text(*filter.until));
  if (filter.first || filter.last) add(sequences_text(filter));
  if (filter.retrying) add("waiting for another attempt");
  return text.empty() ? "all" : text;
}

}  // namespace sagabox
