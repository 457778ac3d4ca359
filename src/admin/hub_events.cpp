#include "admin/checks.hpp"
#include "admin/hub_view.hpp"
#include "delivery/hub_log.hpp"
#include "spi/hub_rules.hpp"

#include <sagabox/hub_admin.hpp>
#include <sagabox/random.hpp>

#include <utility>

namespace sagabox {
namespace {

/// Puts "events[3]." before the error of the fourth of several.
Error in_event(const Error& error, std::size_t number, std::size_t count) {
  if (count == 1) return error;
  return {error.code, "events[" + std::to_string(number) + "]." + error.message};
}

Result<HubEvent> event_from(const EventOrder& order, std::string tenant, UlidSource& ids,
                            const Clock& clock) {
  auto message = Message::build_shared({.topic = order.type,
                                        .key = order.key,
                                        .payload = order.payload,
                                        .tenant = std::move(tenant),
                                        .content_type = order.content_type,
                                        .headers = order.headers,
                                        .occurred_at = order.occurred_at,
                                        .trace = order.trace,
                                        .id = order.id ? order.id->str() : std::string()},
                                       {}, ids, clock);
  if (!message.ok()) {
    // The type of an event is the topic of its message.
    auto error = message.error();
    constexpr std::string_view topic = "topic";
    if (error.message.starts_with(topic)) error.message.replace(0, topic.size(), "type");
    return error;
  }
  const auto id = EventId::parse((*message)->id().view()).value();
  return HubEvent{.id = id,
                  .message = *std::move(message),
                  .source = order.source,
                  .external_id = order.external_id};
}

}  // namespace

Result<std::vector<Published>> HubAdmin::publish(std::span<const EventOrder> orders) {
  if (orders.empty() || orders.size() > events_max) {
    return admin::wrong("events: " + std::to_string(orders.size()) + " given; give 1 to " +
                        std::to_string(events_max));
  }
  const auto& clock = *options_.admin.clock;
  UlidSource ids(clock, system_random());
  std::vector<HubEvent> events;
  events.reserve(orders.size());
  for (const auto& order : orders) {
    auto tenant = admin::limited(options_.admin, order.tenant);
    if (!tenant.ok()) return in_event(tenant.error(), events.size(), orders.size());
    auto event = event_from(order, tenant->value_or(std::string(tenant_default)), ids, clock);
    if (!event.ok()) return in_event(event.error(), events.size(), orders.size());
    if (auto foreign = spi::check_foreign(*event); !foreign.ok()) {
      return in_event(foreign.error(), events.size(), orders.size());
    }
    if (options_.check_event) {
      auto fits = options_.check_event(*event);
      if (!fits.ok()) return in_event(fits.error(), events.size(), orders.size());
    }
    events.push_back(*std::move(event));
  }
  auto published = store_->transaction(
      [&](OwnedTransaction& transaction) { return transaction.events().publish(events); });
  if (!published.ok()) return published;
  hub_.events.wake();
  delivery::log_published(*options_.admin.log, events, *published);
  return published;
}

Result<EventPage> HubAdmin::events(const EventQuery& query) const {
  if (auto status = admin::check_rows("limit", query.rows_max, rows_max); !status.ok()) {
    return status.error();
  }
  if (auto status = admin::check_times("from", query.filter.from, query.filter.to); !status.ok()) {
    return status.error();
  }
  auto tenant = admin::limited(options_.admin, query.filter.tenant);
  if (!tenant.ok()) return tenant.error();
  const auto before = admin::sequence_cursor(query.cursor);
  if (!before.ok()) return before.error();
  spi::EventList request{.filter = query.filter, .before = *before, .rows_max = query.rows_max};
  request.filter.tenant = *std::move(tenant);
  const auto rows = hub_.admin.events(request);
  if (!rows.ok()) return rows.error();
  EventPage page;
  for (const auto& row : *rows) page.rows.push_back(admin::event_view(row, Admin::PayloadToo::no));
  if (rows->size() == query.rows_max) page.next = std::to_string(rows->back().sequence.value);
  return page;
}

Result<std::optional<EventView>> HubAdmin::event(const EventId& id,
                                                 Admin::PayloadToo payload) const {
  const auto found = hub_.admin.event(id);
  if (!found.ok()) return found.error();
  if (!*found) return std::optional<EventView>();
  const auto& tenant = options_.admin.tenant;
  if (tenant && (*found)->message->tenant() != *tenant) return std::optional<EventView>();
  return std::optional(admin::event_view(**found, payload));
}

}  // namespace sagabox
