#include "core/text.hpp"
#include "server/api/hub.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "wire/hub.hpp"

#include <span>
#include <string>
#include <vector>

namespace sagabox::server::operations {
namespace {

/// Reads the field `ids`. All other fields must have been read before.
std::vector<DeliveryId> delivery_ids_from(Fields& fields) {
  std::vector<DeliveryId> ids;
  for (const auto& text : fields.texts("ids")) {
    const auto id = DeliveryId::parse(text);
    if (!id.ok()) {
      fields.wrong("ids[" + std::to_string(ids.size()) + "]", id.error().message);
      return ids;
    }
    ids.push_back(*id);
  }
  if (ids.empty()) fields.wrong("ids", "none given; give an array of ids of deliveries");
  return ids;
}

}  // namespace

Result<Response> list_deliveries(const Call& call) {
  Query query(call.request.target);
  DeliveryQuery wanted{.filter = {.tenant = query.maybe_text("tenant"),
                                  .type = query.maybe_text("type"),
                                  .code = wire::read_hub_code(query),
                                  .from = query.time("from"),
                                  .to = query.time("until")},
                       .ended_from = query.time("ended_from"),
                       .ended_to = query.time("ended_until")};
  wire::read_hub_id(query, "subscription", wanted.filter.subscription);
  wire::read_hub_id(query, "event", wanted.filter.event);
  if (const auto name = query.maybe_text("state")) {
    wanted.filter.state = delivery_state_from_name(*name);
    if (!wanted.filter.state) {
      query.wrong("state",
                  quoted(*name) + "; give pending, waiting, in_progress, completed or dead");
    }
  }
  wanted.rows_max = static_cast<std::uint32_t>(
      query.count("limit", 1, HubAdmin::rows_max).value_or(wanted.rows_max));
  wanted.cursor = query.text("cursor");
  const auto admin = hub_for(call, query);
  if (!admin.ok()) return admin.error();
  const auto page = admin->deliveries(wanted);
  if (!page.ok()) return page.error();
  return ok_with(*page);
}

Result<Response> count_deliveries(const Call& call) {
  Query query(call.request.target);
  const auto admin = hub_for(call, query);
  if (!admin.ok()) return admin.error();
  const auto counts = admin->count();
  if (!counts.ok()) return counts.error();
  return ok_with(std::span<const spi::DeliveryCount>(*counts));
}

Result<Response> get_delivery(const Call& call) {
  Query query(call.request.target);
  const auto payload = payload_too(call, query.flag("payload"));
  const auto id = hub_id_from<DeliveryId>(call);
  if (!id.ok()) return id.error();
  const auto admin = hub_for(call, query);
  if (!admin.ok()) return admin.error();
  if (!payload.ok()) return payload.error();
  const auto found = admin->delivery(*id, *payload);
  if (!found.ok()) return found.error();
  if (!*found) return nothing_there(call, "delivery");
  return ok_with(**found);
}

Result<Response> explain_delivery(const Call& call) {
  Query query(call.request.target);
  const auto id = hub_id_from<DeliveryId>(call);
  if (!id.ok()) return id.error();
  const auto admin = hub_for(call, query);
  if (!admin.ok()) return admin.error();
  const auto explanation = admin->explain(*id);
  if (!explanation.ok()) return explanation.error();
  if (!*explanation) return nothing_there(call, "delivery");
  return ok_with(**explanation);
}

Result<Response> requeue_deliveries(const Call& call) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  const auto note = fields->text("note");
  const auto ids = delivery_ids_from(*fields);
  auto admin = hub_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto requeued = admin->requeue(ids, note);
  if (!requeued.ok()) return requeued.error();
  return ok_with(std::span<const spi::Requeued>(*requeued));
}

Result<Response> requeue_matching(const Call& call) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  const auto note = fields->text("note");
  const bool all = fields->flag("all");
  const auto order = wire::read_requeue_order(*fields);
  const bool narrowed = order.subscription || order.type || order.code || order.failed_from ||
                        order.failed_to || order.tenant;
  if (narrowed == all) {
    fields->wrong("all", "give a filter, or \"all\": true for every dead delivery");
  }
  auto admin = hub_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto report = admin->requeue_matching(order, note);
  if (!report.ok()) return report.error();
  return ok_with(*report);
}

}  // namespace sagabox::server::operations
