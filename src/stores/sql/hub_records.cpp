#include "stores/sql/hub_records.hpp"

#include "core/json_quote.hpp"
#include "core/stored_message.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

namespace sagabox::sql {
namespace {

std::optional<Code> code_of(std::string_view name) {
  return name.empty() ? std::nullopt : std::optional(code_from_name(name));
}

Shard hub_shard(std::int64_t number) { return Shard{static_cast<std::uint16_t>(number)}; }

std::vector<std::string> types_from(std::string_view text) {
  std::vector<std::string> types;
  boost::json::error_code broken;
  const auto value = boost::json::parse({text.data(), text.size()}, broken);
  const auto* const list = broken ? nullptr : value.if_array();
  if (list == nullptr) return types;
  for (const auto& type : *list) {
    if (const auto* const name = type.if_string()) types.emplace_back(name->data(), name->size());
  }
  return types;
}

}  // namespace

Result<Rows> HubParts::read(const Statement& statement, Values values) const {
  auto session = sessions.reader();
  if (!session.ok()) return session.error();
  return (*session)->run(statement, std::move(values));
}

Result<Rows> HubParts::write(const Statement& statement, Values values) const {
  auto session = sessions.autocommit();
  if (!session.ok()) return session.error();
  return (*session)->run(statement, std::move(values));
}

HubEvent hub_event(const Row& row, int column) {
  const auto text = [&](int at) { return row.text(column + at); };
  HubEvent event;
  event.sequence = Sequence{row.natural(column)};
  event.id = hub_id<EventId>(text(1));
  event.source = text(3);
  event.external_id = text(4);
  event.published_at = row.time(column + 19);
  event.shard = hub_shard(row.integer(column + 20));
  StoredRow stored{.id = {},
                   .topic = text(5),
                   .key = text(6),
                   .form = row.boolean(column + 7) ? PayloadForm::json : PayloadForm::bytes,
                   .payload = text(21),
                   .priority = static_cast<Priority>(row.integer(column + 11)),
                   .occurred_at = row.time(column + 14),
                   .digest = digest_of(text(8)),
                   .details = MessageDetails{.tenant = std::string(text(2)),
                                             .aggregate_type = std::string(text(9)),
                                             .aggregate_id = std::string(text(10)),
                                             .content_type = std::string(text(12)),
                                             .trace = {.traceparent = std::string(text(15)),
                                                       .tracestate = std::string(text(16)),
                                                       .request_id = std::string(text(17)),
                                                       .correlation_id = std::string(text(18))}}};
  event.message =
      decode_stored({.id = text(1), .row = std::move(stored), .headers = text(13)}).message;
  return event;
}

DeliveryRecord hub_delivery(const Row& row, int column) {
  const auto text = [&](int at) { return row.text(column + at); };
  DeliveryRecord delivery;
  delivery.sequence = Sequence{row.natural(column)};
  delivery.id = hub_id<DeliveryId>(text(1));
  delivery.event = hub_id<EventId>(text(2));
  delivery.subscription = hub_id<SubscriptionId>(text(3));
  delivery.generation = row.natural32(column + 4);
  delivery.tenant = text(5);
  delivery.type = text(6);
  delivery.key = text(7);
  delivery.shard = hub_shard(row.integer(column + 8));
  delivery.state = delivery_state_from_name(text(9)).value_or(DeliveryState::dead);
  delivery.attempt = row.natural32(column + 10);
  delivery.failures = row.natural32(column + 11);
  delivery.next_attempt_at = row.time(column + 12);
  delivery.created_at = row.time(column + 13);
  delivery.ended_at = row.maybe_time(column + 14);
  delivery.correlation_id = text(15);
  delivery.code = code_of(text(16));
  delivery.error = text(17);
  delivery.status = static_cast<int>(row.integer(column + 18));
  return delivery;
}

JobRecord hub_job(const Row& row, int column) {
  const auto text = [&](int at) { return row.text(column + at); };
  JobRecord job;
  job.delivery = hub_id<DeliveryId>(text(0));
  job.attempt = row.natural32(column + 1);
  job.shard = hub_shard(row.integer(column + 2));
  job.subscription = hub_id<SubscriptionId>(text(3));
  job.state = hub_job_state_from_name(text(4)).value_or(HubJobState::failed);
  job.attempt_at = row.time(column + 5);
  job.resets = row.natural32(column + 6);
  job.worker = text(7);
  job.lease_until = row.maybe_time(column + 8);
  job.ended_at = row.maybe_time(column + 9);
  auto& result = job.result;
  result.completed = job.state == HubJobState::completed;
  result.code = code_of(text(10));
  result.error = text(11);
  result.status = static_cast<int>(row.integer(column + 12));
  result.answer = text(13);
  if (!row.is_null(column + 14)) result.retry_after = Duration(row.integer(column + 14));
  result.took = Duration(row.integer(column + 15));
  return job;
}

SubscriptionRecord hub_subscription(const Row& row) {
  SubscriptionRecord record;
  record.id = hub_id<SubscriptionId>(row.text(0));
  record.tenant = row.text(1);
  record.name = row.text(2);
  record.state = subscription_state_from_name(row.text(3)).value_or(SubscriptionState::disabled);
  record.types = types_from(row.text(4));
  record.target = row.text(5);
  record.settings = row.text(6);
  record.reason = row.text(7);
  record.active_since = row.maybe_time(8);
  record.version = row.natural(9);
  record.change = row.natural(10);
  record.created_at = row.time(11);
  record.changed_at = row.time(12);
  return record;
}

std::string types_text(const std::vector<std::string>& types) {
  std::string text = "[";
  for (const auto& type : types) {
    if (text.size() > 1) text += ',';
    append_json_string(text, type);
  }
  return text + "]";
}

AttemptLists lists_of(std::span<const spi::AttemptOf> attempts) {
  AttemptLists lists;
  for (const auto& of : attempts) lists.add(of);
  return lists;
}

spi::AttemptOf attempt_from(const Row& row) {
  return {hub_id<DeliveryId>(row.text(0)), row.natural32(1)};
}

Status append_audit(const HubParts& parts, Session& session, std::span<const AuditEvent> audit) {
  if (audit.empty()) return {};
  auto appended = parts.audit.append(session, audit);
  return appended.ok() ? Status() : appended.error();
}

std::string HubFences::shards_text(const spi::Fencing& fencing) {
  std::string text;
  for (const auto& fence : fencing.fences) {
    if (!text.empty()) text += ',';
    text += std::to_string(fence.shard.value);
  }
  return text;
}

bool HubFences::all(const std::vector<bool>& held) {
  return std::ranges::find(held, false) == held.end();
}

Result<std::vector<bool>> HubFences::look(Session& session, const spi::Fencing& fencing) const {
  std::vector<bool> held;
  std::vector<std::int64_t> shards, epochs;
  for (const auto& fence : fencing.fences) {
    shards.push_back(fence.shard.value);
    epochs.push_back(static_cast<std::int64_t>(fence.epoch.value));
  }
  auto rows = session.run(
      hold_, {fencing.scope, fencing.owner.view(), std::move(shards), std::move(epochs)});
  if (!rows.ok()) return rows.error();
  for (const auto& fence : fencing.fences) {
    held.push_back(std::ranges::any_of(
        *rows, [&](const Row row) { return row.integer(0) == fence.shard.value; }));
  }
  return held;
}

}  // namespace sagabox::sql
