#pragma once

#include "wire/fields.hpp"
#include "wire/put.hpp"

#include <sagabox/hub_admin.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

/// The delivery hub as JSON, written and read here. Readers note missing or wrong members in the
/// fields. Payloads and answers are included if the view has them.
namespace sagabox::wire {

// Events.

void put_members(JsonOut& json, const EventView& event);
EventView read_event(Fields& fields);
void put_members(JsonOut& json, const EventPage& page);
EventPage read_event_page(Fields& fields);

/// The body of a request that publishes.
void put_members(JsonOut& json, const EventOrder& order);
EventOrder read_event_order(Fields& fields);
void put_members(JsonOut& json, const Published& published);
Published read_published(Fields& fields);
void put_members(JsonOut& json, std::span<const Published> published);
std::vector<Published> read_all_published(Fields& fields);

// Subscriptions.

void put_members(JsonOut& json, const SubscriptionView& subscription);
SubscriptionView read_subscription(Fields& fields);
void put_members(JsonOut& json, const SubscriptionPage& page);
SubscriptionPage read_subscription_page(Fields& fields);

void put_members(JsonOut& json, const SubscriptionOrder& order);
SubscriptionOrder read_subscription_order(Fields& fields);
/// Includes the secret, which is shown only once.
void put_members(JsonOut& json, const CreatedSubscription& created);
CreatedSubscription read_created_subscription(Fields& fields);
/// The path contains its id.
void put_members(JsonOut& json, const SubscriptionChange& change);
SubscriptionChange read_subscription_change(Fields& fields);

void put_members(JsonOut& json, const NewSecret& secret);
NewSecret read_new_secret(Fields& fields);
void put_members(JsonOut& json, const ProbeReport& report);
ProbeReport read_probe_report(Fields& fields);
void put_members(JsonOut& json, const Verified& verified);
Verified read_verified(Fields& fields);
void put_members(JsonOut& json, const SubscriptionHealth& health);
SubscriptionHealth read_subscription_health(Fields& fields);

/// "challenge" or "none"; if missing: challenge.
bool read_verify(Fields& fields);
std::string_view verify_name(bool verify) noexcept;

// Deliveries.

void put_members(JsonOut& json, const DeliveryRecord& delivery);
DeliveryRecord read_delivery_record(Fields& fields);
void put_members(JsonOut& json, const DeliveryPage& page);
DeliveryPage read_delivery_page(Fields& fields);
void put_members(JsonOut& json, const JobRecord& attempt);
void put_members(JsonOut& json, const DeliveryView& delivery);
DeliveryView read_delivery(Fields& fields);
void put_members(JsonOut& json, const spi::DeliveryCount& count);
void put_members(JsonOut& json, std::span<const spi::DeliveryCount> counts);
std::vector<spi::DeliveryCount> read_delivery_counts(Fields& fields);

void put_members(JsonOut& json, const DeliveryReason& reason);
void put_members(JsonOut& json, const DeliveryExplanation& explanation);
DeliveryExplanation read_delivery_explanation(Fields& fields);

void put_members(JsonOut& json, const spi::Requeued& requeued);
/// `results`, and the number that was `requeued`.
void put_members(JsonOut& json, std::span<const spi::Requeued> requeued);
std::vector<spi::Requeued> read_requeued(Fields& fields);
/// "made", "repeated", "not_dead", "not_newest".
std::string_view requeue_outcome_name(spi::Requeued::Outcome outcome) noexcept;

void put_members(JsonOut& json, const RequeueOrder& order);
RequeueOrder read_requeue_order(Fields& fields);
void put_members(JsonOut& json, const RequeueReport& report);
RequeueReport read_requeue_report(Fields& fields);

/// The selection of deliveries, with the same names in a body and in a query. `Source`: Fields, or
/// the query of a request. Errors are noted there.
template <class Source, class IdType>
void read_hub_id(Source& from, std::string_view name, std::optional<IdType>& into) {
  const auto text = from.maybe_text(name);
  if (!text) return;
  auto id = IdType::parse(*text);
  if (id.ok()) {
    into = *id;
  } else {
    from.wrong(name, id.error().message);
  }
}

template <class Source>
std::optional<Code> read_hub_code(Source& from) {
  const auto name = from.maybe_text("code");
  if (!name) return std::nullopt;
  const auto code = code_from_name(*name);
  if (code_name(code) != *name) {
    from.wrong("code", "is not an error code; give one like PROVIDER.REJECTED");
  }
  return code;
}

}  // namespace sagabox::wire
