#include "server/api/hub.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "wire/hub.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::server::operations {
namespace {

/// Reads the event in a body, with data from the request.
EventOrder event_from(const Call& call, Fields& fields, const std::string& where) {
  auto order = wire::read_event_order(fields);
  auto trace = trace_of(call.request);
  if (order.trace.traceparent.empty()) order.trace.traceparent = std::move(trace.traceparent);
  if (order.trace.tracestate.empty()) order.trace.tracestate = std::move(trace.tracestate);
  if (order.trace.request_id.empty()) order.trace.request_id = std::move(trace.request_id);
  if (call.pass != nullptr) order.id = EventId::parse(id_of_request(*call.pass, where)).value();
  return order;
}

/// 409 instead of the 422 of an Idempotency-Key: the conflict is with the existing event.
Result<Response> refused_events(const Error& error) {
  if (error.code == Code::tx_idempotent_mismatch) return problem(409, error);
  return error;
}

}  // namespace

Result<Response> publish_event(const Call& call) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  const auto order = event_from(call, *fields, {});
  auto admin = hub_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto published = admin->publish(std::span(&order, 1));
  if (!published.ok()) return refused_events(published.error());
  const auto& one = published->front();
  auto response = ok_with(one);
  response.status = one.duplicate ? 200 : 201;
  response.headers.emplace_back("Location", "/v1/events/" + percent_encoded(one.id.view()));
  return response;
}

Result<Response> publish_events(const Call& call) {
  auto body = Fields::parse(call.request.body);
  if (!body.ok()) return body.error();
  const auto elements = body->elements("events");
  const auto count = elements ? elements->size() : 0;
  if (count == 0 || count > HubAdmin::events_max) {
    body->wrong("events", std::to_string(count) + " given; give an array of 1 to " +
                              std::to_string(HubAdmin::events_max) + " events");
  }
  if (auto status = body->status(); !status.ok()) return status.error();
  std::vector<EventOrder> orders;
  orders.reserve(count);
  for (const auto element : *elements) {
    const auto where = "events[" + std::to_string(orders.size()) + "].";
    auto fields = Fields::split(element, where);
    if (!fields.ok()) return fields.error();
    orders.push_back(event_from(call, *fields, where));
    if (auto status = fields->status(); !status.ok()) return status.error();
  }
  auto admin = hub_admin_of(call);
  if (!admin.ok()) return admin.error();
  const auto published = admin->publish(orders);
  if (!published.ok()) return refused_events(published.error());
  auto response = ok_with(std::span<const Published>(*published));
  response.status = std::ranges::all_of(*published, &Published::duplicate) ? 200 : 201;
  return response;
}

Result<Response> list_events(const Call& call) {
  Query query(call.request.target);
  EventQuery wanted{.filter = {.tenant = query.maybe_text("tenant"),
                               .type = query.maybe_text("type"),
                               .key = query.maybe_text("key"),
                               .source = query.maybe_text("source"),
                               .external_id = query.maybe_text("external_id"),
                               .from = query.time("from"),
                               .to = query.time("until")}};
  wanted.rows_max = static_cast<std::uint32_t>(
      query.count("limit", 1, HubAdmin::rows_max).value_or(wanted.rows_max));
  wanted.cursor = query.text("cursor");
  const auto admin = hub_for(call, query);
  if (!admin.ok()) return admin.error();
  const auto page = admin->events(wanted);
  if (!page.ok()) return page.error();
  return ok_with(*page);
}

Result<Response> get_event(const Call& call) {
  Query query(call.request.target);
  const auto payload = payload_too(call, query.flag("payload"));
  const auto id = hub_id_from<EventId>(call);
  if (!id.ok()) return id.error();
  const auto admin = hub_for(call, query);
  if (!admin.ok()) return admin.error();
  if (!payload.ok()) return payload.error();
  const auto found = admin->event(*id, *payload);
  if (!found.ok()) return found.error();
  if (!*found) return nothing_there(call, "event");
  return ok_with(**found);
}

}  // namespace sagabox::server::operations
