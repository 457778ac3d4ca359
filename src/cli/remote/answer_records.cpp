#include "cli/remote/answer_records.hpp"

#include "core/base64.hpp"
#include "core/digest_text.hpp"
#include "core/text.hpp"
#include "observe/error_figures.hpp"
#include "server/api/records_json.hpp"

#include <memory>

namespace sagabox::cli::answers {
namespace {

constexpr auto number_max = std::numeric_limits<std::uint64_t>::max();

/// Codes that a newer daemon has are UNKNOWN.INTERNAL here; its text tells more.
std::optional<Code> code_in(Fields& fields, std::string_view name) {
  const auto text = fields.maybe_text(name);
  if (!text) return std::nullopt;
  return code_from_name(*text);
}

FailedAttempt attempt_in(Fields& fields) {
  return {.number = small_in<std::uint32_t>(fields, "attempt"),
          .at = time_in(fields, "at"),
          .code = code_in(fields, "code").value_or(Code::unknown_internal),
          .error = text_in(fields, "error")};
}

std::shared_ptr<const Message> message_in(Fields& fields, const MessageRecord& record) {
  const auto as_json = fields.raw("payload");
  const auto as_base64 = fields.maybe_text("payload_base64");
  if (!as_json && !as_base64) return nullptr;
  auto payload = Payload::copy_of(PayloadForm::json, as_json.value_or(""));
  if (as_base64) {
    const auto data = from_base64(*as_base64);
    if (!data) fields.wrong("payload_base64", "is no base64");
    payload = bytes(data.value_or(""));
  }
  return std::make_shared<const Message>(
      Message::restore({.id = record.id,
                        .fields = {.topic = Topic(record.topic),
                                   .key = record.key,
                                   .payload = std::move(payload),
                                   .tenant = record.tenant,
                                   .content_type = text_in(fields, "content_type"),
                                   .headers = fields.texts_by_name("headers"),
                                   .occurred_at = time_in(fields, "occurred_at")},
                        .digest = record.digest}));
}

}  // namespace

void must_have(Fields& fields, std::string_view name) {
  if (!fields.has(name)) fields.wrong(name, "is missing");
}

std::string text_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return fields.text(name);
}

bool flag_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return fields.flag(name);
}

std::vector<std::string> texts_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return fields.texts(name);
}

std::optional<std::uint64_t> maybe_number_in(Fields& fields, std::string_view name) {
  return fields.count(name, 0, number_max);
}

std::uint64_t number_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return maybe_number_in(fields, name).value_or(0);
}

std::optional<Duration> maybe_seconds_in(Fields& fields, std::string_view name) {
  constexpr double seconds_max = 1e9;
  const auto seconds = fields.number(name);
  if (!seconds) return std::nullopt;
  if (*seconds < -seconds_max || *seconds > seconds_max) {
    fields.wrong(name, "is no number of seconds");
    return std::nullopt;
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds));
}

WallTime time_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return fields.time(name).value_or(WallTime{});
}

MessageId message_id_in(Fields& fields, std::string_view name) {
  auto id = MessageId::parse(text_in(fields, name));
  if (id.ok()) return *id;
  fields.wrong(name, id.error().message);
  return {};
}

WorkerId worker_id_in(Fields& fields, std::string_view name) {
  auto id = WorkerId::parse(text_in(fields, name));
  if (id.ok()) return *id;
  fields.wrong(name, id.error().message);
  return {};
}

Digest digest_in(Fields& fields, std::string_view name) {
  const auto digest = digest_from_hex(text_in(fields, name));
  if (!digest) fields.wrong(name, "is not 64 hexadecimal digits");
  return digest.value_or(Digest{});
}

MessageState state_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return server::state_from(fields, name, MessageState::pending);
}

Severity severity_in(Fields& fields, std::string_view name) {
  const auto text = text_in(fields, name);
  for (const auto severity :
       {Severity::info, Severity::warning, Severity::error, Severity::critical}) {
    if (severity_name(severity) == text) return severity;
  }
  fields.wrong(name, quoted(text) + " is none of info, warning, error and critical");
  return Severity::error;
}

MessageRecord record_in(Fields& fields) {
  MessageRecord record;
  record.state = state_in(fields, "state");
  record.id = message_id_in(fields, "id");
  record.sequence = Sequence{number_in(fields, "sequence")};
  record.shard = Shard{small_in<std::uint16_t>(fields, "shard")};
  record.tenant = text_in(fields, "tenant");
  record.topic = text_in(fields, "topic");
  record.aggregate_type = text_in(fields, "aggregate_type");
  record.aggregate_id = text_in(fields, "aggregate_id");
  record.key = text_in(fields, "key");
  record.digest = digest_in(fields, "sha256");
  record.payload_bytes = number_in(fields, "payload_bytes");
  record.decode_error = fields.text("decode_error");
  record.attempts = small_in<std::uint32_t>(fields, "attempts");
  record.replays = small_in<std::uint32_t>(fields, "replays");
  record.written_at = time_in(fields, "written_at");
  record.due = fields.time("due");
  record.retrying = flag_in(fields, "retrying");
  record.ended_at = fields.time("ended_at");
  record.code = code_in(fields, "code");
  record.error = fields.text("error");
  record.note = fields.text("note");
  if (fields.has("history")) record.history = list_in(fields, "history", attempt_in);
  record.message = message_in(fields, record);
  return record;
}

ReplayJob job_in(Fields& fields) {
  ReplayJob job;
  job.id = ReplayJobId{number_in(fields, "job")};
  job.table = text_in(fields, "table");
  const auto state = text_in(fields, "state");
  using State = ReplayJob::State;
  for (const auto one : {State::running, State::stopped, State::finished, State::failed}) {
    if (job_state_name(one) == state) job.state = one;
  }
  if (job_state_name(job.state) != state) fields.wrong("state", quoted(state) + " is unknown");
  job.from = state_in(fields, "from");
  job.filter =
      object_in(fields, "filter", [](Fields& filter) { return server::filter_from(filter); });
  job.cursor = Sequence{number_in(fields, "cursor")};
  job.last = Sequence{number_in(fields, "last")};
  job.rate_max = small_in<std::uint32_t>(fields, "rate_max");
  job.matched = number_in(fields, "matched");
  job.replayed = number_in(fields, "replayed");
  if (fields.has("skipped")) job.skipped = number_in(fields, "skipped");
  job.actor = text_in(fields, "actor");
  job.error = fields.text("error");
  job.created_at = time_in(fields, "created_at");
  job.changed_at = time_in(fields, "changed_at");
  return job;
}

}  // namespace sagabox::cli::answers
