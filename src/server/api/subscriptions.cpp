#include "core/text.hpp"
#include "server/api/hub.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "wire/field_reading.hpp"
#include "wire/hub.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace sagabox::server::operations {
namespace {

/// The same id for the same key of the same caller, so that a repeated request makes the
/// subscription once. Its answer contains a secret, so it is not stored like those of other writes.
SubscriptionId subscription_id_for(const Caller& caller, const std::string& key) {
  constexpr std::size_t digits = 32;
  std::string text;
  for (const auto& part : {caller.key_id, caller.tenant.value_or(""), key}) {
    text += std::to_string(part.size()) + ":" + part;
  }
  return SubscriptionId::parse("k" + hex(sha256(text)).substr(0, digits)).value();
}

/// Answers of an endpoint are shown to keys that may see payloads.
Admin::PayloadToo answers_too(const Call& call) {
  return call.caller.payloads ? Admin::PayloadToo::yes : Admin::PayloadToo::no;
}

Result<Response> act_on_subscription(const Call& call, SubscriptionAct act) {
  const auto id = hub_id_from<SubscriptionId>(call);
  if (!id.ok()) return id.error();
  auto fields = fields_of(call.request);
  if (!fields.ok()) return fields.error();
  const auto note = fields->text("note");
  auto admin = hub_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto subscription = admin->act(*id, act, note);
  if (!subscription.ok()) return subscription.error();
  return ok_with(*subscription);
}

}  // namespace

Result<Response> create_subscription(const Call& call) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  auto order = wire::read_subscription_order(*fields);
  auto admin = hub_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto key = idempotency_key_of(call.request);
  if (!key.ok()) return key.error();
  if (!key->empty()) order.id = subscription_id_for(call.caller, *key);
  const auto created = admin->create(order);
  if (!created.ok()) return created.error();
  auto response = ok_with(*created);
  response.status = created->duplicate ? 200 : 201;
  response.headers.emplace_back(
      "Location", "/v1/subscriptions/" + percent_encoded(created->subscription.record.id.view()));
  return response;
}

Result<Response> list_subscriptions(const Call& call) {
  Query query(call.request.target);
  SubscriptionQuery wanted{
      .filter = {.tenant = query.maybe_text("tenant"), .name = query.maybe_text("name")}};
  if (const auto name = query.maybe_text("state")) {
    wanted.filter.state = subscription_state_from_name(*name);
    if (!wanted.filter.state) {
      query.wrong("state", quoted(*name) + "; give unverified, active, paused or disabled");
    }
  }
  wanted.rows_max = static_cast<std::uint32_t>(
      query.count("limit", 1, HubAdmin::rows_max).value_or(wanted.rows_max));
  wanted.cursor = query.text("cursor");
  const auto admin = hub_for(call, query);
  if (!admin.ok()) return admin.error();
  const auto page = admin->subscriptions(wanted);
  if (!page.ok()) return page.error();
  return ok_with(*page);
}

Result<Response> get_subscription(const Call& call) {
  Query query(call.request.target);
  const auto payload = payload_too(call, query.flag("payload"));
  const auto id = hub_id_from<SubscriptionId>(call);
  if (!id.ok()) return id.error();
  const auto admin = hub_for(call, query);
  if (!admin.ok()) return admin.error();
  if (!payload.ok()) return payload.error();
  const auto found = admin->subscription(*id, *payload);
  if (!found.ok()) return found.error();
  if (!*found) return nothing_there(call, "subscription");
  return ok_with(**found);
}

Result<Response> change_subscription(const Call& call) {
  const auto id = hub_id_from<SubscriptionId>(call);
  if (!id.ok()) return id.error();
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  auto change = wire::read_subscription_change(*fields);
  change.id = *id;
  auto admin = hub_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto subscription = admin->change(change);
  if (!subscription.ok()) return subscription.error();
  return ok_with(*subscription);
}

Result<Response> pause_subscription(const Call& call) {
  return act_on_subscription(call, SubscriptionAct::pause);
}

Result<Response> resume_subscription(const Call& call) {
  return act_on_subscription(call, SubscriptionAct::resume);
}

Result<Response> disable_subscription(const Call& call) {
  return act_on_subscription(call, SubscriptionAct::disable);
}

Result<Response> enable_subscription(const Call& call) {
  return act_on_subscription(call, SubscriptionAct::enable);
}

Result<Response> verify_subscription(const Call& call) {
  const auto id = hub_id_from<SubscriptionId>(call);
  if (!id.ok()) return id.error();
  auto fields = fields_of(call.request);
  if (!fields.ok()) return fields.error();
  const bool asks = wire::read_verify(*fields);
  auto admin = hub_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto verified = admin->verify(
      *id, asks ? HubAdmin::Proof::challenge : HubAdmin::Proof::none, answers_too(call));
  if (!verified.ok()) return verified.error();
  return ok_with(*verified);
}

Result<Response> ping_subscription(const Call& call) {
  const auto id = hub_id_from<SubscriptionId>(call);
  if (!id.ok()) return id.error();
  if (auto status = no_fields(call.request.body); !status.ok()) return status.error();
  auto admin = hub_admin_of(call);
  if (!admin.ok()) return admin.error();
  const auto report = admin->ping(*id, answers_too(call));
  if (!report.ok()) return report.error();
  return ok_with(*report);
}

Result<Response> rotate_secret(const Call& call) {
  const auto id = hub_id_from<SubscriptionId>(call);
  if (!id.ok()) return id.error();
  auto fields = fields_of(call.request);
  if (!fields.ok()) return fields.error();
  const auto overlap = wire::maybe_seconds_in(*fields, "overlap_seconds");
  auto admin = hub_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto secret = admin->rotate_secret(*id, overlap.value_or(HubAdmin::overlap_default));
  if (!secret.ok()) return secret.error();
  auto response = ok_with(*secret);
  response.status = 201;
  return response;
}

Result<Response> get_subscription_health(const Call& call) {
  Query query(call.request.target);
  constexpr auto since_max =
      std::chrono::duration_cast<std::chrono::seconds>(HubAdmin::health_since_max).count();
  const auto since = query.count("since_seconds", 1, static_cast<std::uint64_t>(since_max));
  const auto id = hub_id_from<SubscriptionId>(call);
  if (!id.ok()) return id.error();
  const auto admin = hub_for(call, query);
  if (!admin.ok()) return admin.error();
  const auto health =
      admin->health(*id, since ? std::chrono::seconds(*since) : HubAdmin::health_since_default);
  if (!health.ok()) return health.error();
  if (!*health) return nothing_there(call, "subscription");
  return ok_with(**health);
}

Result<Response> explain_subscription(const Call& call) {
  Query query(call.request.target);
  const auto id = hub_id_from<SubscriptionId>(call);
  if (!id.ok()) return id.error();
  const auto admin = hub_for(call, query);
  if (!admin.ok()) return admin.error();
  const auto explanation = admin->explain(*id);
  if (!explanation.ok()) return explanation.error();
  if (!*explanation) return nothing_there(call, "subscription");
  return ok_with(**explanation);
}

}  // namespace sagabox::server::operations
