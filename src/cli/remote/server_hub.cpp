#include "cli/remote/server_hub.hpp"

#include "admin/hub_findings.hpp"
#include "core/timestamp.hpp"
#include "server/api/query.hpp"
#include "wire/hub.hpp"

#include <chrono>
#include <string_view>
#include <utility>

namespace sagabox::cli {
namespace {

using requests::Target;

template <class IdType>
std::string hub_path(std::string_view of, const IdType& id, std::string_view below = {}) {
  return "/v1/" + std::string(of) + "/" + server::percent_encoded(id.view()) + std::string(below);
}

template <class IdType>
Target looked_at(std::string_view of, const IdType& id, Admin::PayloadToo payload) {
  Target target(hub_path(of, id));
  if (payload == Admin::PayloadToo::yes) target.add("payload", "true");
  return target;
}

template <class Record>
std::string body_of(const Record& record) {
  wire::JsonOut json;
  wire::put(json, record);
  return std::move(json).take();
}

template <class Members>
std::string body_with(Members members) {
  wire::JsonOut json;
  json.begin_object();
  members(json);
  return std::move(json.end_object()).take();
}

void add_time(Target& target, std::string_view name, const std::optional<WallTime>& time) {
  if (time) target.add(name, timestamp_text(*time));
}

void add_text(Target& target, std::string_view name, const std::optional<std::string>& text) {
  if (text) target.add(name, *text);
}

void add_page(Target& target, std::uint32_t rows_max, const std::string& cursor) {
  target.add("limit", rows_max);
  if (!cursor.empty()) target.add("cursor", cursor);
}

}  // namespace

Result<Published> ServerHub::publish(const EventOrder& order) {
  return daemon_.act(Target("/v1/events"), body_of(order), wire::read_published);
}

Result<EventPage> ServerHub::events(const EventQuery& query) {
  const auto& filter = query.filter;
  Target target("/v1/events");
  add_text(target, "tenant", filter.tenant);
  add_text(target, "type", filter.type);
  add_text(target, "key", filter.key);
  add_text(target, "source", filter.source);
  add_text(target, "external_id", filter.external_id);
  add_time(target, "from", filter.from);
  add_time(target, "until", filter.to);
  add_page(target, query.rows_max, query.cursor);
  return daemon_.get(target, wire::read_event_page);
}

Result<std::optional<EventView>> ServerHub::event(const EventId& id, Admin::PayloadToo payload) {
  return daemon_.find(looked_at("events", id, payload), wire::read_event);
}

Result<CreatedSubscription> ServerHub::create(const SubscriptionOrder& order) {
  return daemon_.act(Target("/v1/subscriptions"), body_of(order), wire::read_created_subscription);
}

Result<SubscriptionPage> ServerHub::subscriptions(const SubscriptionQuery& query) {
  Target target("/v1/subscriptions");
  add_text(target, "tenant", query.filter.tenant);
  add_text(target, "name", query.filter.name);
  if (query.filter.state) target.add("state", subscription_state_name(*query.filter.state));
  add_page(target, query.rows_max, query.cursor);
  return daemon_.get(target, wire::read_subscription_page);
}

Result<std::optional<SubscriptionView>> ServerHub::subscription(const SubscriptionId& id,
                                                                Admin::PayloadToo payload) {
  return daemon_.find(looked_at("subscriptions", id, payload), wire::read_subscription);
}

Result<SubscriptionView> ServerHub::change(const SubscriptionChange& change) {
  return daemon_.act(Target(hub_path("subscriptions", change.id)), body_of(change),
                     wire::read_subscription);
}

Result<SubscriptionView> ServerHub::act(const SubscriptionId& id, SubscriptionAct act,
                                        const std::string& note) {
  const auto below = "/" + std::string(subscription_act_name(act));
  auto body = body_with([&](wire::JsonOut& json) { json.field_if("note", note); });
  return daemon_.act(Target(hub_path("subscriptions", id, below)), std::move(body),
                     wire::read_subscription);
}

Result<Verified> ServerHub::verify(const SubscriptionId& id, HubAdmin::Proof proof) {
  auto body = body_with([&](wire::JsonOut& json) {
    json.field("verify", wire::verify_name(proof == HubAdmin::Proof::challenge));
  });
  return daemon_.act(Target(hub_path("subscriptions", id, "/verify")), std::move(body),
                     wire::read_verified);
}

Result<ProbeReport> ServerHub::ping(const SubscriptionId& id) {
  return daemon_.act(Target(hub_path("subscriptions", id, "/ping")), "", wire::read_probe_report);
}

Result<NewSecret> ServerHub::rotate_secret(const SubscriptionId& id, Duration overlap) {
  auto body = body_with(
      [&](wire::JsonOut& json) { json.field("overlap_seconds", wire::seconds(overlap)); });
  return daemon_.act(Target(hub_path("subscriptions", id, "/secrets")), std::move(body),
                     wire::read_new_secret);
}

Result<std::vector<spi::Finding>> ServerHub::findings() {
  const auto counts = count();
  if (!counts.ok()) return counts.error();
  spi::HubStats stats;
  auto& dead = stats.states.at(static_cast<std::size_t>(DeliveryState::dead));
  for (const auto& count : *counts) {
    if (count.state != DeliveryState::dead) continue;
    dead.deliveries += count.deliveries;
    dead.estimated = dead.estimated || count.more;
  }
  return admin::findings_of(admin::HubFacts{.stats = stats});
}

Result<ResealReport> ServerHub::reseal(bool, const std::function<void(const ResealReport&)>&) {
  return Error{Code::request_invalid,
               "secrets are sealed again on the store itself: --store URL, with --secret-key-file"};
}

Result<std::optional<SubscriptionHealth>> ServerHub::health(const SubscriptionId& id,
                                                            Duration since) {
  Target target(hub_path("subscriptions", id, "/health"));
  const auto whole = std::chrono::ceil<std::chrono::seconds>(since).count();
  target.add("since_seconds", static_cast<std::uint64_t>(whole));
  return daemon_.find(target, wire::read_subscription_health);
}

Result<DeliveryPage> ServerHub::deliveries(const DeliveryQuery& query) {
  const auto& filter = query.filter;
  Target target("/v1/deliveries");
  add_text(target, "tenant", filter.tenant);
  add_text(target, "type", filter.type);
  if (filter.subscription) target.add("subscription", filter.subscription->view());
  if (filter.event) target.add("event", filter.event->view());
  if (filter.state) target.add("state", delivery_state_name(*filter.state));
  if (filter.code) target.add("code", code_name(*filter.code));
  add_time(target, "from", filter.from);
  add_time(target, "until", filter.to);
  add_time(target, "ended_from", query.ended_from);
  add_time(target, "ended_until", query.ended_to);
  add_page(target, query.rows_max, query.cursor);
  return daemon_.get(target, wire::read_delivery_page);
}

Result<std::vector<spi::DeliveryCount>> ServerHub::count() {
  return daemon_.get(Target("/v1/deliveries/count"), wire::read_delivery_counts);
}

Result<std::optional<DeliveryView>> ServerHub::delivery(const DeliveryId& id,
                                                        Admin::PayloadToo payload) {
  return daemon_.find(looked_at("deliveries", id, payload), wire::read_delivery);
}

Result<std::optional<DeliveryExplanation>> ServerHub::explain(const DeliveryId& id) {
  return daemon_.find(Target(hub_path("deliveries", id, "/explain")),
                      wire::read_delivery_explanation);
}

Result<std::optional<DeliveryExplanation>> ServerHub::explain(const SubscriptionId& id) {
  return daemon_.find(Target(hub_path("subscriptions", id, "/explain")),
                      wire::read_delivery_explanation);
}

Result<std::vector<spi::Requeued>> ServerHub::requeue(std::span<const DeliveryId> ids,
                                                      const std::string& note) {
  auto body = body_with([&](wire::JsonOut& json) {
    json.field_if("note", note);
    wire::put_array(json, "ids", ids, [&](const DeliveryId& id) { json.value(id.view()); });
  });
  return daemon_.act(Target("/v1/deliveries/requeue"), std::move(body), wire::read_requeued);
}

}  // namespace sagabox::cli
