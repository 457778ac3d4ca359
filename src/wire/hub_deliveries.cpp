#include "core/text.hpp"
#include "wire/field_reading.hpp"
#include "wire/hub.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sagabox::wire {
namespace {

using Outcome = spi::Requeued::Outcome;
constexpr std::array<std::string_view, 4> outcome_names{"made", "repeated", "not_dead",
                                                        "not_newest"};
constexpr std::uint64_t http_status_max = 999;

template <class IdType>
IdType hub_id_in(Fields& fields, std::string_view name) {
  auto id = IdType::parse(text_in(fields, name));
  if (id.ok()) return *id;
  fields.wrong(name, id.error().message);
  return {};
}

DeliveryState delivery_state_in(Fields& fields, std::string_view name) {
  const auto text = text_in(fields, name);
  const auto state = delivery_state_from_name(text);
  if (!state) fields.wrong(name, quoted(text) + " is unknown");
  return state.value_or(DeliveryState::pending);
}

int status_from(Fields& fields) {
  return static_cast<int>(fields.count("status", 0, http_status_max).value_or(0));
}

JobRecord read_hub_attempt(Fields& fields) {
  JobRecord attempt;
  attempt.attempt = small_in<std::uint32_t>(fields, "number");
  const auto state = text_in(fields, "state");
  const auto known = hub_job_state_from_name(state);
  if (!known) fields.wrong("state", quoted(state) + " is unknown");
  attempt.state = known.value_or(HubJobState::pending);
  attempt.attempt_at = time_in(fields, "at");
  attempt.resets = small_in<std::uint32_t>(fields, "resets");
  attempt.worker = fields.text("worker");
  attempt.lease_until = fields.time("lease_until");
  attempt.ended_at = fields.time("ended_at");
  attempt.result = {.completed = attempt.state == HubJobState::completed,
                    .code = maybe_code_in(fields, "code"),
                    .error = fields.text("error"),
                    .status = status_from(fields),
                    .answer = fields.text("answer"),
                    .retry_after = maybe_seconds_in(fields, "retry_after_seconds"),
                    .took = maybe_seconds_in(fields, "took_seconds").value_or(Duration{})};
  return attempt;
}

DeliveryReason read_delivery_reason(Fields& fields) {
  const auto name = text_in(fields, "why");
  const auto why = delivery_why_from_name(name);
  if (!why) fields.wrong("why", quoted(name) + " is unknown");
  return {why.value_or(DeliveryWhy::with_owner), text_in(fields, "text")};
}

spi::DeliveryCount read_delivery_count(Fields& fields) {
  return {.subscription = hub_id_in<SubscriptionId>(fields, "subscription"),
          .state = delivery_state_in(fields, "state"),
          .deliveries = number_in(fields, "deliveries"),
          .oldest = fields.time("oldest"),
          .more = fields.flag("more")};
}

spi::Requeued read_one_requeued(Fields& fields) {
  spi::Requeued requeued{.from = hub_id_in<DeliveryId>(fields, "from")};
  const auto name = text_in(fields, "outcome");
  const auto* const found = std::ranges::find(outcome_names, name);
  if (found == outcome_names.end()) {
    fields.wrong("outcome", quoted(name) + " is unknown");
  } else {
    requeued.outcome = static_cast<Outcome>(found - outcome_names.begin());
  }
  if (fields.has_value("made")) requeued.made = hub_id_in<DeliveryId>(fields, "made");
  return requeued;
}

}  // namespace

void put_members(JsonOut& json, const DeliveryRecord& delivery) {
  json.field("id", delivery.id.view())
      .field("event", delivery.event.view())
      .field("subscription", delivery.subscription.view())
      .field("generation", delivery.generation)
      .field("tenant", delivery.tenant)
      .field("type", delivery.type)
      .field_if("key", delivery.key)
      .field("sequence", delivery.sequence.value)
      .field("shard", delivery.shard.value)
      .field("state", delivery_state_name(delivery.state))
      .field("attempt", delivery.attempt)
      .field("failures", delivery.failures)
      .field("next_attempt_at", delivery.next_attempt_at)
      .field("created_at", delivery.created_at)
      .field_if("ended_at", delivery.ended_at)
      .field_if("correlation_id", delivery.correlation_id);
  if (delivery.code) json.field("code", code_name(*delivery.code));
  json.field_if("error", delivery.error);
  if (delivery.status != 0) json.field("status", delivery.status);
}

DeliveryRecord read_delivery_record(Fields& fields) {
  return {.id = hub_id_in<DeliveryId>(fields, "id"),
          .event = hub_id_in<EventId>(fields, "event"),
          .subscription = hub_id_in<SubscriptionId>(fields, "subscription"),
          .generation = small_in<std::uint32_t>(fields, "generation"),
          .tenant = text_in(fields, "tenant"),
          .type = text_in(fields, "type"),
          .key = fields.text("key"),
          .shard = Shard{small_in<std::uint16_t>(fields, "shard")},
          .sequence = Sequence{number_in(fields, "sequence")},
          .state = delivery_state_in(fields, "state"),
          .attempt = small_in<std::uint32_t>(fields, "attempt"),
          .failures = small_in<std::uint32_t>(fields, "failures"),
          .next_attempt_at = time_in(fields, "next_attempt_at"),
          .created_at = time_in(fields, "created_at"),
          .ended_at = fields.time("ended_at"),
          .correlation_id = fields.text("correlation_id"),
          .code = maybe_code_in(fields, "code"),
          .error = fields.text("error"),
          .status = status_from(fields)};
}

void put_members(JsonOut& json, const DeliveryPage& page) {
  put_array(json, "deliveries", page.rows);
  json.field_if("next", page.next);
}

DeliveryPage read_delivery_page(Fields& fields) {
  return {.rows = list_in(fields, "deliveries", read_delivery_record), .next = fields.text("next")};
}

void put_members(JsonOut& json, const JobRecord& attempt) {
  const auto& result = attempt.result;
  json.field("number", attempt.attempt)
      .field("state", hub_job_state_name(attempt.state))
      .field("at", attempt.attempt_at)
      .field("resets", attempt.resets)
      .field_if("worker", attempt.worker)
      .field_if("lease_until", attempt.lease_until)
      .field_if("ended_at", attempt.ended_at);
  if (is_active(attempt.state)) return;
  if (result.code) json.field("code", code_name(*result.code));
  json.field_if("error", result.error);
  if (result.status != 0) json.field("status", result.status);
  json.field("took_seconds", seconds(result.took));
  if (result.retry_after) json.field("retry_after_seconds", seconds(*result.retry_after));
  json.field_if("answer", result.answer);
}

void put_members(JsonOut& json, const DeliveryView& delivery) {
  put_members(json, delivery.delivery);
  json.field_if("subscription_name", delivery.subscription_name)
      .field_if("target", delivery.target);
  put_array(json, "attempts", delivery.attempts);
  if (delivery.event) put(json.name("event_data"), *delivery.event);
  json.field("seen_at", delivery.seen_at);
}

DeliveryView read_delivery(Fields& fields) {
  DeliveryView view{.delivery = read_delivery_record(fields),
                    .subscription_name = fields.text("subscription_name"),
                    .target = fields.text("target"),
                    .attempts = list_in(fields, "attempts", read_hub_attempt)};
  if (fields.has_value("event_data")) view.event = object_in(fields, "event_data", read_event);
  view.seen_at = time_in(fields, "seen_at");
  for (auto& attempt : view.attempts) {
    attempt.delivery = view.delivery.id;
    attempt.subscription = view.delivery.subscription;
    attempt.shard = view.delivery.shard;
  }
  return view;
}

void put_members(JsonOut& json, const spi::DeliveryCount& count) {
  json.field("subscription", count.subscription.view())
      .field("state", delivery_state_name(count.state))
      .field("deliveries", count.deliveries)
      .field_if("oldest", count.oldest);
  if (count.more) json.field("more", true);
}

void put_members(JsonOut& json, std::span<const spi::DeliveryCount> counts) {
  put_array(json, "counts", counts);
}

std::vector<spi::DeliveryCount> read_delivery_counts(Fields& fields) {
  return list_in(fields, "counts", read_delivery_count);
}

void put_members(JsonOut& json, const DeliveryReason& reason) {
  json.field("why", delivery_why_name(reason.why)).field("text", reason.text);
}

void put_members(JsonOut& json, const DeliveryExplanation& explanation) {
  json.field("state", explanation.state);
  put_array(json, "reasons", explanation.reasons);
  json.field_if("owner", explanation.owner)
      .field_if("next", explanation.next)
      .field("text", explanation.text());
}

DeliveryExplanation read_delivery_explanation(Fields& fields) {
  return {.state = text_in(fields, "state"),
          .reasons = list_in(fields, "reasons", read_delivery_reason),
          .owner = fields.text("owner"),
          .next = fields.text("next")};
}

std::string_view requeue_outcome_name(Outcome outcome) noexcept {
  return outcome_names[static_cast<std::size_t>(outcome)];
}

void put_members(JsonOut& json, const spi::Requeued& requeued) {
  json.field("from", requeued.from.view()).field("outcome", requeue_outcome_name(requeued.outcome));
  if (!requeued.made.empty()) json.field("made", requeued.made.view());
}

void put_members(JsonOut& json, std::span<const spi::Requeued> requeued) {
  put_array(json, "results", requeued);
  json.field("requeued", std::ranges::count(requeued, Outcome::made, &spi::Requeued::outcome));
}

std::vector<spi::Requeued> read_requeued(Fields& fields) {
  return list_in(fields, "results", read_one_requeued);
}

void put_members(JsonOut& json, const RequeueOrder& order) {
  json.field_if("tenant", order.tenant).field_if("type", order.type);
  if (order.subscription) json.field("subscription", order.subscription->view());
  if (order.code) json.field("code", code_name(*order.code));
  json.field_if("failed_from", order.failed_from)
      .field_if("failed_until", order.failed_to)
      .field("dry_run", order.dry_run);
}

RequeueOrder read_requeue_order(Fields& fields) {
  RequeueOrder order{.tenant = fields.maybe_text("tenant"),
                     .type = fields.maybe_text("type"),
                     .code = read_hub_code(fields),
                     .failed_from = fields.time("failed_from"),
                     .failed_to = fields.time("failed_until"),
                     .dry_run = fields.flag("dry_run")};
  read_hub_id(fields, "subscription", order.subscription);
  return order;
}

void put_members(JsonOut& json, const RequeueReport& report) {
  json.field("matched", report.matched)
      .field("requeued", report.requeued)
      .field("already", report.already);
  put_array(json, "first", report.first);
}

RequeueReport read_requeue_report(Fields& fields) {
  return {.matched = number_in(fields, "matched"),
          .requeued = number_in(fields, "requeued"),
          .already = number_in(fields, "already"),
          .first = list_in(fields, "first", read_delivery_record)};
}

}  // namespace sagabox::wire
