#include "server/api/records_json.hpp"

#include "core/base64.hpp"
#include "observe/error_figures.hpp"

#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace sagabox::server {
namespace {

constexpr auto sequence_max = std::numeric_limits<std::uint64_t>::max();
constexpr std::string_view states = "pending, done, dead or quarantined";

std::string_view priority_name(Priority priority) {
  switch (priority) {
    case Priority::high:
      return "high";
    case Priority::normal:
      return "normal";
    case Priority::low:
      break;
  }
  return "low";
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void put_content(JsonOut& json, const Message& message) {
  json.field("content_type", message.content_type())
      .field("priority", priority_name(message.priority()))
      .field("occurred_at", message.occurred_at())
      .field_if("not_before", message.not_before())
      .field_if("traceparent", message.trace().traceparent)
      .field_if("tracestate", message.trace().tracestate)
      .field_if("request_id", message.trace().request_id)
      .field_if("correlation_id", message.trace().correlation_id);
  json.name("headers").begin_object();
  for (const auto& [name, value] : message.headers()) json.field(name, value);
  json.end_object();
  if (message.payload().form() == PayloadForm::json) {
    json.name("payload").raw(message.payload().view());
  } else {
    std::string base64;
    append_base64(message.payload().view(), base64);
    json.field("payload_base64", base64);
  }
}

void put_history(JsonOut& json, const std::vector<FailedAttempt>& history) {
  json.name("history").begin_array();
  for (const auto& attempt : history) {
    json.begin_object()
        .field("attempt", attempt.number)
        .field("at", attempt.at)
        .field("code", code_name(attempt.code))
        .field("error", attempt.error)
        .end_object();
  }
  json.end_array();
}

void put(JsonOut& json, const MessageFilter& filter) {
  json.begin_object()
      .field_if("tenant", filter.tenant)
      .field_if("topic", filter.topic)
      .field_if("aggregate_type", filter.aggregate_type)
      .field_if("key", filter.key);
  if (filter.code) json.field("code", code_name(*filter.code));
  json.field_if("from", filter.from).field_if("until", filter.until);
  if (filter.first) json.field("first", filter.first->value);
  if (filter.last) json.field("last", filter.last->value);
  json.end_object();
}

/// The same words in a query and in a body.
template <class Source>
MessageFilter read_filter(Source& from) {
  MessageFilter filter;
  filter.tenant = from.maybe_text("tenant");
  filter.topic = from.maybe_text("topic");
  filter.aggregate_type = from.maybe_text("aggregate_type");
  filter.key = from.maybe_text("key");
  if (const auto name = from.maybe_text("code")) {
    filter.code = code_from_name(*name);
    if (code_name(*filter.code) != *name) {
      from.wrong("code", "is no error code; give one like PROVIDER.REJECTED");
    }
  }
  filter.from = from.time("from");
  filter.until = from.time("until");
  if (const auto first = from.count("first", 0, sequence_max)) filter.first = Sequence{*first};
  if (const auto last = from.count("last", 0, sequence_max)) filter.last = Sequence{*last};
  return filter;
}

template <class Source>
std::optional<MessageState> read_state(Source& from, std::string_view name) {
  const auto text = from.maybe_text(name);
  if (!text) return std::nullopt;
  const auto state = state_from_name(*text);
  if (!state) from.wrong(name, "is no state; give " + std::string(states));
  return state;
}

}  // namespace

void put(JsonOut& json, const TableName& table, const MessageRecord& record) {
  json.begin_object()
      .field("id", record.id.view())
      .field("table", table.str())
      .field("state", state_name(record.state))
      .field("sequence", record.sequence.value)
      .field("shard", record.shard.value)
      .field("tenant", record.tenant)
      .field("topic", record.topic)
      .field("aggregate_type", record.aggregate_type)
      .field("aggregate_id", record.aggregate_id)
      .field("key", record.key)
      .field("sha256", hex(record.digest))
      .field("payload_bytes", record.payload_bytes)
      .field("attempts", record.attempts)
      .field("replays", record.replays)
      .field("retrying", record.retrying)
      .field("written_at", record.written_at)
      .field_if("due", record.due)
      .field_if("ended_at", record.ended_at);
  if (record.code) json.field("code", code_name(*record.code));
  json.field_if("error", record.error)
      .field_if("note", record.note)
      .field_if("decode_error", record.decode_error);
  if (!record.history.empty()) put_history(json, record.history);
  if (record.message) put_content(json, *record.message);
  json.end_object();
}

void put(JsonOut& json, const ReplayJob& job) {
  json.begin_object()
      .field("job", job.id.value)
      .field("table", job.table)
      .field("state", job_state_name(job.state))
      .field("from", state_name(job.from));
  json.name("filter");
  put(json, job.filter);
  json.field("rate_max", job.rate_max)
      .field("matched", job.matched)
      .field("replayed", job.replayed)
      .field("skipped", job.skipped)
      .field("cursor", job.cursor.value)
      .field("last", job.last.value)
      .field("actor", job.actor)
      .field_if("error", job.error)
      .field("created_at", job.created_at)
      .field("changed_at", job.changed_at)
      .end_object();
}

void put(JsonOut& json, const Moved& moved) {
  json.begin_object().field("id", moved.id.view());
  if (moved.was) json.field("was", state_name(*moved.was));
  json.field("moved", moved.moved);
  if (moved.unclear) json.field("unclear", true);
  json.field("text", moved.text).end_object();
}

void put(JsonOut& json, const Pause& pause) {
  json.begin_object()
      .field_if("topic", pause.topic)
      .field_if("actor", pause.actor)
      .field_if("note", pause.note)
      .field("since", pause.since)
      .end_object();
}

void put(JsonOut& json, const Explanation& explanation) {
  json.begin_object().field("state", explanation.state).name("reasons").begin_array();
  for (const auto& reason : explanation.reasons) {
    json.begin_object().field("why", why_name(reason.why)).field("text", reason.text).end_object();
  }
  json.end_array()
      .field_if("owner", explanation.owner)
      .field_if("next", explanation.next)
      .field("text", explanation.text())
      .end_object();
}

void put(JsonOut& json, const admin::TableOwners& owners) {
  const auto& census = owners.relays;
  json.begin_object().name("live").begin_array();
  for (const auto& worker : census.live) json.value(worker.view());
  json.end_array().name("shards").begin_array();
  for (const auto& shard : census.shards) {
    json.begin_object().field("shard", shard.shard.value).field("epoch", shard.epoch.value);
    if (!shard.owner.empty()) {
      json.field("owner", shard.owner.view())
          .field("lease_left_seconds", seconds(shard.lease_left));
    }
    json.end_object();
  }
  json.end_array();
  if (owners.replayer) json.field("replayer", owners.replayer->owner.view());
  if (owners.purger) json.field("purger", owners.purger->owner.view());
  json.end_object();
}

void put(JsonOut& json, const spi::Stray& stray) {
  json.begin_object()
      .field("sequence", stray.sequence.value)
      .field("id", stray.id.view())
      .field("why", stray.why)
      .end_object();
}

void put(JsonOut& json, const spi::Finding& finding) {
  json.begin_object()
      .field("severity", severity_name(finding.severity))
      .field("what", finding.what)
      .field("cure", finding.cure)
      .end_object();
}

void put(JsonOut& json, const DestinationState& state) {
  json.begin_object()
      .field("target", state.target)
      .field("down", state.down)
      .field("under_way", state.under_way);
  if (state.down) {
    json.field("down_seconds", seconds(state.down_for))
        .field("next_probe_seconds", seconds(state.next_probe))
        .field("last_error", state.last_error);
  }
  json.end_object();
}

void put(JsonOut& json, const BlockedKey& key, const TableName& table) {
  json.begin_object()
      .field("key", key.key)
      .field("behind", key.behind)
      .field("more_behind", key.more_behind)
      .name("head");
  put(json, table, key.head);
  json.end_object();
}

void put_fields(JsonOut& json, const spi::TableStats& stats) {
  json.field("pending", stats.pending)
      .field("pending_estimated", stats.estimated)
      .field("waiting", stats.waiting)
      .field("done", stats.done)
      .field("dead", stats.dead)
      .field("quarantined", stats.quarantined)
      .field_if("oldest_pending", stats.oldest_pending)
      .field("now", stats.now);
  if (stats.oldest_transaction) {
    json.field("oldest_transaction_seconds", seconds(*stats.oldest_transaction));
  }
  json.field_if("slot_transactions", stats.slot_transactions);
}

MessageFilter filter_from(Query& query) { return read_filter(query); }
MessageFilter filter_from(Fields& fields) { return read_filter(fields); }

std::optional<MessageState> maybe_state_from(Query& query, std::string_view name) {
  return read_state(query, name);
}
MessageState state_from(Query& query, std::string_view name, MessageState otherwise) {
  return read_state(query, name).value_or(otherwise);
}
MessageState state_from(Fields& fields, std::string_view name, MessageState otherwise) {
  return read_state(fields, name).value_or(otherwise);
}

Status no_fields(std::string_view body) {
  if (body.empty()) return {};
  const auto fields = Fields::parse(body);
  return fields.ok() ? fields->status() : Status(fields.error());
}

Result<MessageId> id_from(std::string_view text) {
  auto id = MessageId::parse(text);
  if (!id.ok()) return Error{Code::request_invalid, "id: " + id.error().message};
  return id;
}

std::vector<Sequence> sequences_from(Fields& fields) {
  const auto elements = fields.elements("sequences");
  if (!elements) return {};
  std::vector<Sequence> sequences;
  for (const auto element : *elements) {
    Sequence sequence{};
    const auto* const end = element.data() + element.size();
    const auto [read, error] = std::from_chars(element.data(), end, sequence.value);
    if (error != std::errc() || read != end) {
      fields.wrong("sequences[" + std::to_string(sequences.size()) + "]",
                   "is not a sequence; give the whole number that the message was listed with");
      return {};
    }
    sequences.push_back(sequence);
  }
  // An empty array must not mean "any row of these ids".
  if (sequences.empty())
    fields.wrong("sequences", "is empty; give one for each id, or leave it out");
  return sequences;
}

Result<std::vector<MessageId>> ids_from(Fields& fields) {
  const auto texts = fields.texts("ids");
  std::vector<MessageId> ids;
  for (const auto& text : texts) {
    const auto id = MessageId::parse(text);
    if (!id.ok()) {
      fields.wrong("ids[" + std::to_string(ids.size()) + "]", id.error().message);
      break;
    }
    ids.push_back(*id);
  }
  if (ids.empty()) fields.wrong("ids", "none given; give an array of message ids");
  if (auto status = fields.status(); !status.ok()) return status.error();
  return ids;
}

}  // namespace sagabox::server
