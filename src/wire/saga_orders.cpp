#include "core/text.hpp"
#include "wire/field_reading.hpp"
#include "wire/sagas.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::wire {
namespace {

constexpr std::uint64_t version_max = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view deny_name = "deny";
constexpr std::array<std::string_view, 3> reply_names{"ok", "retry", "fail"};

std::optional<CommandId> command_id_from(Fields& fields) {
  const auto text = fields.maybe_text("command_id");
  if (!text) return std::nullopt;
  auto id = CommandId::parse(*text);
  if (id.ok()) return *id;
  fields.wrong("command_id", id.error().message);
  return std::nullopt;
}

std::string json_from(Fields& fields, std::string_view name) {
  return std::string(fields.raw(name).value_or(""));
}

void put_order_json(JsonOut& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json.name(name).raw(text);
}

std::vector<SagaLabel> labels_from(Fields& fields) {
  std::vector<SagaLabel> labels;
  for (auto& [name, value] : fields.texts_by_name("labels")) {
    labels.push_back({std::move(name), std::move(value)});
  }
  return labels;
}

void put_result(JsonOut& json, const SagaReplyOrder& reply) {
  json.field("result", reply_names[static_cast<std::size_t>(reply.kind)])
      .field_if("error", reply.error);
  if (reply.retry_after) json.field("retry_after_seconds", seconds(*reply.retry_after));
  put_order_json(json, "output", reply.output);
}

void put_reply(JsonOut& json, const SagaReplyOrder& reply) {
  json.field("step", reply.step)
      .field("direction", reply.compensation ? "compensation" : "action")
      .field_if("round", reply.round);
  put_result(json, reply);
}

void result_from(Fields& fields, SagaReplyOrder& reply) {
  const auto result = fields.maybe_text("result").value_or("ok");
  const auto* const found = std::ranges::find(reply_names, result);
  if (found == reply_names.end()) {
    fields.wrong("result", quoted(result) + "; give ok, retry or fail");
  } else {
    reply.kind = static_cast<SagaReplyOrder::Kind>(found - reply_names.begin());
  }
  reply.output = json_from(fields, "output");
  reply.error = fields.text("error");
  reply.retry_after = maybe_seconds_in(fields, "retry_after_seconds");
}

SagaReplyOrder reply_from(Fields& fields) {
  SagaReplyOrder reply{.step = text_in(fields, "step")};
  const auto direction = fields.maybe_text("direction").value_or("action");
  reply.compensation = direction == "compensation";
  if (!reply.compensation && direction != "action") {
    fields.wrong("direction", quoted(direction) + "; give action or compensation");
  }
  if (const auto round = fields.count("round", 0, version_max)) {
    reply.round = static_cast<std::uint32_t>(*round);
  }
  result_from(fields, reply);
  return reply;
}

void set_step_from(Fields& fields, SagaOrder& order) {
  order.step = text_in(fields, "step");
  const auto name = text_in(fields, "state");
  order.state = saga_step_state_from_name(name);
  if (!order.state) {
    fields.wrong("state", quoted(name) + "; give pending, succeeded, failed, undone or skipped");
  }
  order.output = json_from(fields, "output");
}

}  // namespace

void put_members(JsonOut& json, const SagaStartOrder& order) {
  json.field("definition", order.definition)
      .field_if("tenant", order.tenant)
      .field_if("key", order.key)
      .field_if("isolate", order.isolate);
  put_order_json(json, "input", order.input);
  if (!order.labels.empty()) {
    json.name("labels").begin_object();
    for (const auto& label : order.labels) json.field(label.name, label.value);
    json.end_object();
  }
  if (order.timeout) json.field("timeout_seconds", seconds(*order.timeout));
  json.field_if("version", order.version).field_if("traceparent", order.traceparent);
  if (order.command) json.field("command_id", order.command->view());
}

SagaStartOrder read_saga_start(Fields& fields) {
  SagaStartOrder order{.definition = text_in(fields, "definition"),
                       .tenant = fields.maybe_text("tenant"),
                       .key = fields.text("key"),
                       .input = json_from(fields, "input"),
                       .isolate = fields.text("isolate"),
                       .labels = labels_from(fields),
                       .timeout = maybe_seconds_in(fields, "timeout_seconds"),
                       .traceparent = fields.text("traceparent"),
                       .command = command_id_from(fields)};
  if (const auto version = fields.count("version", 1, version_max)) {
    order.version = static_cast<std::uint32_t>(*version);
  }
  if (order.timeout && *order.timeout <= Duration::zero()) {
    fields.wrong("timeout_seconds", "must be above 0; leave it out for the definition's");
  }
  return order;
}

SagaReplyOrder read_saga_result(Fields& fields) {
  SagaReplyOrder reply;
  result_from(fields, reply);
  return reply;
}

void put_members(JsonOut& json, const SagaReplyTaken& taken) { json.field("result", taken.result); }

void put_members(JsonOut& json, const SagaOrder& order) {
  const bool denies = order.kind == SagaCommandKind::approve && !order.approved;
  json.field("command", denies ? deny_name : saga_command_name(order.kind))
      .field_if("note", order.note);
  if (order.command) json.field("command_id", order.command->view());
  switch (order.kind) {
    case SagaCommandKind::reply:
      put_reply(json, order.reply);
      break;
    case SagaCommandKind::signal:
      json.field("signal", order.signal);
      put_order_json(json, "payload", order.payload);
      break;
    case SagaCommandKind::approve:
      json.field_if("step", order.step);
      break;
    case SagaCommandKind::set_step:
      json.field("step", order.step);
      if (order.state) json.field("state", saga_step_state_name(*order.state));
      put_order_json(json, "output", order.output);
      break;
    case SagaCommandKind::replay:
      json.field("into_compensation", order.into_compensation);
      break;
    default:
      break;
  }
}

SagaOrder read_saga_order(Fields& fields) {
  SagaOrder order;
  const auto name = text_in(fields, "command");
  order.approved = name != deny_name;
  const auto kind = order.approved ? saga_command_from_name(name) : SagaCommandKind::approve;
  if (!kind || *kind == SagaCommandKind::start) {
    fields.wrong("command", quoted(name) +
                                "; give pause, resume, cancel, compensate, signal, approve, deny, "
                                "set_step, replay, quarantine, release or reply");
    return order;
  }
  order.kind = *kind;
  order.command = command_id_from(fields);
  order.note = fields.text("note");
  switch (order.kind) {
    case SagaCommandKind::reply:
      order.reply = reply_from(fields);
      break;
    case SagaCommandKind::signal:
      order.signal = text_in(fields, "signal");
      order.payload = json_from(fields, "payload");
      break;
    case SagaCommandKind::approve:
      order.step = fields.text("step");
      break;
    case SagaCommandKind::set_step:
      set_step_from(fields, order);
      break;
    case SagaCommandKind::replay:
      order.into_compensation = fields.flag("into_compensation");
      break;
    default:
      break;
  }
  return order;
}

}  // namespace sagabox::wire
