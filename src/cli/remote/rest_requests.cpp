#include "cli/remote/rest_requests.hpp"

#include "core/base64.hpp"
#include "core/timestamp.hpp"
#include "server/api/query.hpp"
#include "wire/filters.hpp"
#include "wire/put.hpp"

#include <utility>

namespace sagabox::cli::requests {
namespace {

using wire::JsonOut;

void put_filter(JsonOut& json, const MessageFilter& filter) {
  json.name("filter");
  put(json, filter);
}

void put_payload(JsonOut& json, const Payload& payload) {
  if (payload.form() == PayloadForm::json) {
    json.name("payload").raw(payload.view());
    return;
  }
  std::string base64;
  append_base64(payload.view(), base64);
  json.field("payload_base64", base64);
}

}  // namespace

Target::Target(const TableName& table, std::string_view below)
    : text_("/v1/tables/" + server::percent_encoded(table.str()) + std::string(below)) {}

Target& Target::add(std::string_view name, std::string_view value) {
  text_ += std::exchange(has_query_, true) ? '&' : '?';
  text_ += std::string(name) + "=" + server::percent_encoded(value);
  return *this;
}

Target& Target::add_filter(MessageState state, const MessageFilter& filter) {
  const auto add_text = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) add(name, *value);
  };
  add("state", state_name(state));
  add_text("tenant", filter.tenant);
  add_text("topic", filter.topic);
  add_text("aggregate_type", filter.aggregate_type);
  add_text("key", filter.key);
  if (filter.code) add("code", code_name(*filter.code));
  if (filter.from) add("from", timestamp_text(*filter.from));
  if (filter.until) add("until", timestamp_text(*filter.until));
  if (filter.first) add("first", filter.first->value);
  if (filter.last) add("last", filter.last->value);
  if (filter.retrying) add("retrying", "true");
  return *this;
}

Target list(const TableName& table, const ListQuery& query) {
  Target target(table, "/messages");
  target.add_filter(query.state, query.filter).add("limit", query.rows_max);
  if (!query.cursor.empty()) target.add("cursor", query.cursor);
  if (query.with_history) target.add("history", "true");
  return target;
}

Target message(const TableName& table, const MessageId& id, std::string_view below) {
  return {table, "/messages/" + server::percent_encoded(id.view()) + std::string(below)};
}

std::string findings_path(const std::string& store) {
  return "/v1/stores/" + server::percent_encoded(store) + "/findings";
}

Target job(const TableName& table, ReplayJobId id, std::string_view below) {
  return {table, "/replays/" + std::to_string(id.value) + std::string(below)};
}

std::string enqueue(const Message& message, const std::optional<std::string>& tenant) {
  JsonOut json;
  json.begin_object()
      .field("id", message.id().view())
      .field("topic", message.topic())
      .field_if("key", message.key())
      .field_if("tenant", tenant)
      .field("content_type", message.content_type())
      .field("occurred_at", message.occurred_at())
      .field_if("not_before", message.not_before());
  json.name("headers").begin_object();
  for (const auto& [name, value] : message.headers()) json.field(name, value);
  json.end_object();
  put_payload(json, message.payload());
  json.end_object();
  return std::move(json).take();
}

std::string move(std::span<const MessageId> ids, const std::optional<std::string>& note,
                 const std::optional<std::string>& tenant, std::span<const Sequence> sequences,
                 bool as_new) {
  JsonOut json;
  json.begin_object().field_if("note", note).field_if("tenant", tenant).name("ids").begin_array();
  for (const auto& id : ids) json.value(id.view());
  json.end_array();
  if (!sequences.empty()) {
    json.name("sequences").begin_array();
    for (const auto sequence : sequences) json.value(sequence.value);
    json.end_array();
  }
  if (as_new) json.field("as_new", true);
  json.end_object();
  return std::move(json).take();
}

std::string pause(const std::string& topic, const std::string& note) {
  JsonOut json;
  json.begin_object().field_if("topic", topic).field_if("note", note).end_object();
  return std::move(json).take();
}

std::string purge(const PurgeOrder& order) {
  const auto age = std::chrono::ceil<std::chrono::seconds>(order.older_than.value_or(Duration{}));
  JsonOut json;
  json.begin_object()
      .field("state", state_name(order.state))
      .field("older_than_seconds", age.count())
      .field("dry_run", order.dry_run)
      .field("force_pending", order.force_pending)
      .end_object();
  return std::move(json).take();
}

std::string preview(const ReplayOrder& order) {
  JsonOut json;
  json.begin_object().field("from", state_name(order.from));
  put_filter(json, order.filter);
  if (order.as_new) json.field("as_new", true);
  json.end_object();
  return std::move(json).take();
}

std::string replay(const ReplayOrder& order) {
  JsonOut json;
  json.begin_object().field("from", state_name(order.from)).field("rate_max", order.rate_max);
  if (order.as_new) json.field("as_new", true);
  if (order.filter == MessageFilter{}) {
    json.field("all", true);
  } else {
    put_filter(json, order.filter);
  }
  json.end_object();
  return std::move(json).take();
}

std::string forget_idempotency(const std::string& store, const IdempotencyKey& key,
                               const std::string& note) {
  JsonOut json;
  json.begin_object()
      .field_if("store", store)
      .field("tenant", key.tenant)
      .field("consumer", key.consumer)
      .field("key", key.key)
      .field_if("note", note)
      .end_object();
  return std::move(json).take();
}

std::string purge_idempotency(const std::string& store) {
  JsonOut json;
  json.begin_object().field_if("store", store).field("expired", true).end_object();
  return std::move(json).take();
}

}  // namespace sagabox::cli::requests
