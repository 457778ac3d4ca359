#include "wire/orders.hpp"

#include "core/base64.hpp"
#include "core/text.hpp"
#include "wire/filters.hpp"
#include "wire/messages.hpp"

#include <charconv>
#include <chrono>
#include <limits>
#include <string_view>
#include <utility>

namespace sagabox::wire {
namespace {

Priority priority_from(Fields& fields) {
  const auto text = fields.maybe_text("priority").value_or("normal");
  if (text == "high") return Priority::high;
  if (text == "low") return Priority::low;
  if (text != "normal") fields.wrong("priority", quoted(text) + "; give high, normal or low");
  return Priority::normal;
}

Payload payload_from(Fields& fields) {
  const auto as_json = fields.raw("payload");
  const auto as_base64 = fields.maybe_text("payload_base64");
  if (as_json && as_base64) {
    fields.wrong("payload_base64", "payload is given too; give one of them");
  } else if (as_json) {
    return Payload::copy_of(PayloadForm::json, *as_json);
  } else if (as_base64) {
    auto data = from_base64(*as_base64);
    if (data) return bytes(std::move(*data));
    fields.wrong("payload_base64", "is not base64 with its padding (RFC 4648)");
  } else {
    fields.wrong("payload", "missing; give any JSON value, or payload_base64");
  }
  return {};
}

void read_trace(Fields& fields, TraceContext& trace) {
  const auto read = [&](std::string_view name, std::string& into) {
    if (auto text = fields.maybe_text(name)) into = std::move(*text);
  };
  read("traceparent", trace.traceparent);
  read("tracestate", trace.tracestate);
  read("request_id", trace.request_id);
  read("correlation_id", trace.correlation_id);
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

std::vector<MessageId> ids_from(Fields& fields) {
  std::vector<MessageId> ids;
  for (const auto& text : fields.texts("ids")) {
    const auto id = MessageId::parse(text);
    if (!id.ok()) {
      fields.wrong("ids[" + std::to_string(ids.size()) + "]", id.error().message);
      break;
    }
    ids.push_back(*id);
  }
  if (ids.empty()) fields.wrong("ids", "none given; give an array of message ids");
  return ids;
}

void put_filter(JsonOut& json, const MessageFilter& filter) {
  json.name("filter");
  put(json, filter);
}

/// `all`: set to whether the request says that every message is meant.
ReplayOrder choice_from(Fields& fields, bool& all) {
  ReplayOrder order;
  order.from = read_state(fields, "from").value_or(MessageState::dead);
  order.as_new = fields.flag("as_new");
  all = fields.flag("all");
  if (auto filter = fields.object("filter")) {
    order.filter = read_filter(*filter);
    if (auto status = filter->status(); !status.ok()) fields.fail(status.error());
  }
  if (all && order.filter != MessageFilter{}) {
    fields.wrong("all", "filter says which messages; give one of them");
  }
  return order;
}

/// Everything is replayed only if the request says so: a script may have lost the filter that
/// belongs there. Done messages need a range, which the admin checks.
void must_choose(Fields& fields, const ReplayOrder& order, bool all) {
  const bool ends_badly =
      order.from == MessageState::dead || order.from == MessageState::quarantined;
  if (all || !ends_badly || order.filter != MessageFilter{}) return;
  fields.wrong("filter", "names no messages; give a topic, a code or another field of it, or " +
                             quoted("all") + ": true for every message that is " +
                             std::string(state_name(order.from)));
}

}  // namespace

void put_members(JsonOut& json, const Message& message, const std::optional<std::string>& tenant) {
  json.field("id", message.id().view())
      .field("topic", message.topic())
      .field_if("key", message.key())
      .field_if("tenant", tenant);
  if (message.aggregate_type() != aggregate_global)
    json.field("aggregate_type", message.aggregate_type());
  json.field_if("aggregate_id", message.aggregate_id());
  put_content(json, message);
}

MessageOrder read_message_order(Fields& fields, TraceContext trace) {
  MessageOrder order;
  auto& message = order.message;
  message.topic = fields.text("topic");
  message.payload = payload_from(fields);
  message.id = fields.text("id");
  message.key = fields.text("key");
  order.tenant = fields.maybe_text("tenant");
  message.aggregate_type =
      fields.maybe_text("aggregate_type").value_or(std::string(aggregate_global));
  message.aggregate_id = fields.text("aggregate_id");
  message.priority = priority_from(fields);
  message.content_type = fields.text("content_type");
  message.headers = fields.texts_by_name("headers");
  message.occurred_at = fields.time("occurred_at");
  message.not_before = fields.time("not_before");
  message.trace = std::move(trace);
  read_trace(fields, message.trace);
  return order;
}

void put_members(JsonOut& json, const MoveOrder& order) {
  json.field_if("note", order.note).field_if("tenant", order.tenant);
  put_array(json, "ids", order.ids, [&](const MessageId& id) { json.value(id.view()); });
  if (!order.sequences.empty()) {
    put_array(json, "sequences", order.sequences,
              [&](Sequence sequence) { json.value(sequence.value); });
  }
  if (order.as_new) json.field("as_new", true);
}

MoveOrder read_move_order(Fields& fields, MoveTakes takes) {
  MoveOrder order;
  if (takes == MoveTakes::note) order.note = fields.text("note");
  order.tenant = fields.maybe_text("tenant");
  order.sequences = sequences_from(fields);
  order.as_new = takes == MoveTakes::as_new && fields.flag("as_new");
  order.ids = ids_from(fields);
  return order;
}

void put_members(JsonOut& json, const PauseOrder& order) {
  json.field_if("topic", order.topic).field_if("note", order.note);
}

PauseOrder read_pause_order(Fields& fields, bool pauses) {
  PauseOrder order{.topic = fields.maybe_text("topic")};
  if (pauses) order.note = fields.text("note");
  return order;
}

void put_members(JsonOut& json, const PurgeOrder& order) {
  const auto age = std::chrono::ceil<std::chrono::seconds>(order.older_than.value_or(Duration{}));
  json.field("state", state_name(order.state))
      .field("older_than_seconds", age.count())
      .field("dry_run", order.dry_run)
      .field("force_pending", order.force_pending);
}

PurgeOrder read_purge_order(Fields& fields) {
  constexpr std::uint64_t century = 100ULL * 366 * 24 * 3600;
  PurgeOrder order;
  order.state = read_state(fields, "state").value_or(MessageState::done);
  if (const auto age = fields.count("older_than_seconds", 0, century)) {
    order.older_than = std::chrono::seconds(*age);
  } else {
    fields.wrong("older_than_seconds", "missing; give how long ago they ended, 0 for all");
  }
  order.dry_run = fields.flag("dry_run");
  order.force_pending = fields.flag("force_pending");
  return order;
}

void put_preview(JsonOut& json, const ReplayOrder& order) {
  json.field("from", state_name(order.from));
  put_filter(json, order.filter);
  if (order.as_new) json.field("as_new", true);
}

ReplayOrder read_preview_order(Fields& fields) {
  bool all = false;
  return choice_from(fields, all);
}

void put_members(JsonOut& json, const ReplayOrder& order) {
  json.field("from", state_name(order.from)).field("rate_max", order.rate_max);
  if (order.as_new) json.field("as_new", true);
  if (order.filter == MessageFilter{}) {
    json.field("all", true);
  } else {
    put_filter(json, order.filter);
  }
}

ReplayOrder read_replay_order(Fields& fields) {
  bool all = false;
  auto order = choice_from(fields, all);
  must_choose(fields, order, all);
  constexpr auto rate_ceiling = std::numeric_limits<std::uint32_t>::max();
  order.rate_max =
      static_cast<std::uint32_t>(fields.count("rate_max", 0, rate_ceiling).value_or(0));
  return order;
}

void put_members(JsonOut& json, const std::string& store, const IdempotencyPurgeOrder& order) {
  json.field_if("store", store);
  if (order.expired) json.field("expired", true);
  json.field_if("tenant", order.tenant)
      .field_if("consumer", order.consumer)
      .field_if("key", order.key)
      .field_if("note", order.note);
}

IdempotencyPurgeOrder read_idempotency_purge_order(Fields& fields) {
  IdempotencyPurgeOrder order{.expired = fields.flag("expired"),
                              .tenant = fields.maybe_text("tenant"),
                              .consumer = fields.maybe_text("consumer"),
                              .key = fields.maybe_text("key"),
                              .note = fields.text("note")};
  if (order.expired == order.key.has_value()) {
    fields.wrong("key",
                 "give a key with its consumer, or expired: true for all whose time is over");
  }
  if (order.key && !order.consumer)
    fields.wrong("consumer", "missing; a key is that of a consumer");
  if (order.expired && (order.consumer || order.tenant)) {
    fields.wrong("expired", "concerns all consumers and tenants; leave consumer and tenant out");
  }
  return order;
}

}  // namespace sagabox::wire
