#include "admin/checks.hpp"
#include "admin/hub_checks.hpp"
#include "admin/hub_explain.hpp"
#include "admin/hub_view.hpp"
#include "core/masked_url.hpp"
#include "core/text.hpp"
#include "observe/metric_names.hpp"

#include <sagabox/hub_admin.hpp>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

namespace sagabox {
namespace {

constexpr std::size_t requeue_batch = 500;
constexpr std::size_t requeue_shown_max = 10;
constexpr std::uint32_t earlier_looked_at = 1000;

Status check_delivery_ids(std::span<const DeliveryId> ids) {
  if (ids.empty() || ids.size() > HubAdmin::ids_max) {
    return admin::wrong("ids: " + std::to_string(ids.size()) + " given; give 1 to " +
                        std::to_string(HubAdmin::ids_max));
  }
  std::set<DeliveryId> seen;
  for (const auto& id : ids) {
    if (!seen.insert(id).second) {
      return admin::wrong("ids: " + quoted(id.view()) + " is given twice; give each once");
    }
  }
  return {};
}

}  // namespace

Result<DeliveryPage> HubAdmin::deliveries(const DeliveryQuery& query) const {
  if (auto status = admin::check_rows("limit", query.rows_max, rows_max); !status.ok()) {
    return status.error();
  }
  auto times = admin::check_times("from", query.filter.from, query.filter.to);
  if (times.ok()) times = admin::check_times("ended_from", query.ended_from, query.ended_to);
  if (!times.ok()) return times.error();
  auto tenant = admin::limited(options_.admin, query.filter.tenant);
  if (!tenant.ok()) return tenant.error();
  const auto before = admin::sequence_cursor(query.cursor);
  if (!before.ok()) return before.error();
  spi::DeliveryList request{.filter = query.filter,
                            .ended_from = query.ended_from,
                            .ended_to = query.ended_to,
                            .requeued = query.requeued,
                            .before = *before,
                            .rows_max = query.rows_max};
  request.filter.tenant = *std::move(tenant);
  auto rows = hub_.admin.deliveries(request);
  if (!rows.ok()) return rows.error();
  DeliveryPage page;
  if (rows->size() == query.rows_max) page.next = std::to_string(rows->back().sequence.value);
  page.rows = *std::move(rows);
  return page;
}

Result<std::vector<spi::DeliveryCount>> HubAdmin::count() const {
  return hub_.admin.count({.tenant = options_.admin.tenant, .rows_max = count_rows_max});
}

Result<std::optional<DeliveryRecord>> HubAdmin::stored_delivery(const DeliveryId& id) const {
  auto found = hub_.admin.delivery(id);
  if (!found.ok() || !*found) return found;
  const auto& tenant = options_.admin.tenant;
  if (tenant && (*found)->tenant != *tenant) return std::optional<DeliveryRecord>();
  return found;
}

/// For a dead delivery, its snapshot, which remains when the event is deleted.
Result<std::optional<EventView>> HubAdmin::event_of(const DeliveryRecord& delivery,
                                                    Admin::PayloadToo payload) const {
  if (delivery.state == DeliveryState::dead) {
    const auto dead = hub_.admin.dead(delivery.id);
    if (!dead.ok()) return dead.error();
    if (*dead && (*dead)->event.message) {
      return std::optional(admin::event_view((*dead)->event, payload));
    }
  }
  return event(delivery.event, payload);
}

Result<std::optional<DeliveryView>> HubAdmin::delivery(const DeliveryId& id,
                                                       Admin::PayloadToo payload) const {
  const auto found = stored_delivery(id);
  if (!found.ok()) return found.error();
  if (!*found) return std::optional<DeliveryView>();
  DeliveryView view{.delivery = **found, .seen_at = options_.admin.clock->wall_now()};
  const auto subscription = stored(view.delivery.subscription);
  if (!subscription.ok()) return subscription.error();
  if (*subscription) {
    view.subscription_name = (*subscription)->name;
    view.target = masked_target((*subscription)->target);
  }
  auto attempts = hub_.admin.attempts(id);
  if (!attempts.ok()) return attempts.error();
  view.attempts = *std::move(attempts);
  // An endpoint may return the payload that it received.
  if (payload == Admin::PayloadToo::no) {
    for (auto& attempt : view.attempts) attempt.result.answer.clear();
  }
  auto event = event_of(view.delivery, payload);
  if (!event.ok()) return event.error();
  view.event = *std::move(event);
  return std::optional(std::move(view));
}

Result<std::optional<DeliveryExplanation>> HubAdmin::explain(const DeliveryId& id) const {
  const auto found = stored_delivery(id);
  if (!found.ok()) return found.error();
  if (!*found) return std::optional<DeliveryExplanation>();
  admin::DeliveryFacts facts{.delivery = **found, .now = options_.admin.clock->wall_now()};
  const auto& delivery = facts.delivery;
  auto subscription = stored(delivery.subscription);
  if (!subscription.ok()) return subscription.error();
  facts.subscription = *std::move(subscription);
  auto attempts = hub_.admin.attempts(id);
  if (!attempts.ok()) return attempts.error();
  facts.attempts = *std::move(attempts);
  if (delivery.state == DeliveryState::dead) {
    const auto next = hub_.admin.delivery(
        delivery_id_of(delivery.event, delivery.subscription, delivery.generation + 1));
    if (!next.ok()) return next.error();
    facts.next_generation = *next;
    return std::optional(admin::explain(facts));
  }
  if (!delivery.key.empty()) {
    for (const auto state :
         {DeliveryState::pending, DeliveryState::waiting, DeliveryState::in_progress}) {
      const auto rows =
          hub_.admin.deliveries({.filter = {.subscription = delivery.subscription, .state = state},
                                 .before = delivery.sequence,
                                 .rows_max = earlier_looked_at});
      if (!rows.ok()) return rows.error();
      for (const auto& row : *rows) {
        if (row.key == delivery.key) facts.earlier.push_back(row);
      }
    }
    std::ranges::sort(facts.earlier, {}, &DeliveryRecord::sequence);
  }
  auto owners = store_->ownership().census(std::string(admin::deliveries_scope));
  if (!owners.ok()) return owners.error();
  facts.owners = *std::move(owners);
  if (options_.endpoint) facts.endpoint = options_.endpoint(delivery.subscription);
  return std::optional(admin::explain(facts));
}

Result<std::vector<spi::Requeued>> HubAdmin::requeue(std::span<const DeliveryId> ids,
                                                     const std::string& note) {
  auto status = check_delivery_ids(ids);
  if (status.ok()) status = admin::check_hub_note(note);
  if (!status.ok()) return status.error();
  std::vector<AuditEvent> audit;
  std::vector<DeliveryRecord> dead;
  for (const auto& id : ids) {
    const auto found = stored_delivery(id);
    if (!found.ok()) return found.error();
    if (*found && (*found)->state == DeliveryState::dead) dead.push_back(**found);
    // The store writes no audit event for a delivery that does not exist or belongs to another
    // tenant.
    audit.push_back(admin::requeue_event(found->value_or(DeliveryRecord()), options_.admin.actor,
                                         note, options_.admin.clock->wall_now()));
  }
  if (status = check_enabled(dead); !status.ok()) return status.error();
  return send_again(ids, audit);
}

Status HubAdmin::check_enabled(std::span<const DeliveryRecord> dead) const {
  std::set<SubscriptionId> seen;
  for (const auto& delivery : dead) {
    if (!seen.insert(delivery.subscription).second) continue;
    const auto found = stored(delivery.subscription);
    if (!found.ok()) return found.error();
    if (!*found || (*found)->state != SubscriptionState::disabled) continue;
    return Error{Code::tx_invalid_state,
                 "subscription " + delivery.subscription.str() + " of delivery " +
                     delivery.id.str() +
                     " is disabled, and what is requeued would die at once; enable it first"};
  }
  return {};
}

Result<std::vector<spi::Requeued>> HubAdmin::send_again(std::span<const DeliveryId> ids,
                                                        std::span<const AuditEvent> audit) {
  auto answers = hub_.admin.requeue(ids, options_.admin.tenant, audit);
  if (!answers.ok()) return answers;
  std::uint64_t made = 0;
  for (std::size_t i = 0; i < answers->size(); ++i) {
    if ((*answers)[i].outcome != spi::Requeued::Outcome::made) continue;
    ++made;
    tell(audit[i]);
  }
  if (made > 0) {
    hub_.deliveries.wake();
    options_.admin.metrics->counter(metric::replay_total, {{"kind", "delivery"}})
        .add(static_cast<double>(made));
  }
  options_.admin.log->log(LogLevel::info, "deliveries requeued",
                          {{"actor", std::string_view(options_.admin.actor)},
                           {"asked", std::uint64_t{ids.size()}},
                           {"requeued", made}});
  return answers;
}

Result<std::vector<DeliveryRecord>> HubAdmin::matching(const RequeueOrder& order,
                                                       bool requeued) const {
  DeliveryQuery query{.filter = {.tenant = order.tenant,
                                 .subscription = order.subscription,
                                 .state = DeliveryState::dead,
                                 .type = order.type,
                                 .code = order.code},
                      .ended_from = order.failed_from,
                      .ended_to = order.failed_to,
                      .requeued = requeued,
                      .rows_max = rows_max};
  std::vector<DeliveryRecord> all;
  do {
    auto page = deliveries(query);
    if (!page.ok()) return page.error();
    std::ranges::move(page->rows, std::back_inserter(all));
    query.cursor = std::move(page->next);
  } while (!query.cursor.empty() && all.size() <= requeue_rows_max);
  return all;
}

Result<RequeueReport> HubAdmin::requeue_matching(const RequeueOrder& order,
                                                 const std::string& note) {
  if (auto status = admin::check_hub_note(note); !status.ok()) return status.error();
  auto rows = matching(order, false);
  if (!rows.ok()) return rows.error();
  if (rows->size() > requeue_rows_max) {
    return admin::wrong("more than " + std::to_string(requeue_rows_max) +
                        " deliveries match; narrow the filter, by time for instance");
  }
  if (auto status = check_enabled(*rows); !status.ok()) return status.error();
  const auto before = matching(order, true);
  if (!before.ok()) return before.error();
  // The oldest first, so that requeued deliveries keep the order of their key.
  std::ranges::reverse(*rows);
  RequeueReport report{.already = std::min(before->size(), requeue_rows_max)};
  report.matched = rows->size() + report.already;
  const auto shown = std::min(rows->size(), requeue_shown_max);
  report.first.assign(rows->begin(), rows->begin() + static_cast<std::ptrdiff_t>(shown));
  if (order.dry_run) return report;
  for (std::size_t at = 0; at < rows->size(); at += requeue_batch) {
    std::vector<DeliveryId> ids;
    std::vector<AuditEvent> audit;
    for (const auto& row : *rows | std::views::drop(at) | std::views::take(requeue_batch)) {
      ids.push_back(row.id);
      audit.push_back(
          admin::requeue_event(row, options_.admin.actor, note, options_.admin.clock->wall_now()));
    }
    const auto answers = send_again(ids, audit);
    if (!answers.ok()) {
      return Error{answers.error().code, "after " + std::to_string(report.requeued) +
                                             " were requeued: " + answers.error().message};
    }
    for (const auto& answer : *answers) {
      const bool made = answer.outcome == spi::Requeued::Outcome::made;
      ++(made ? report.requeued : report.already);
    }
  }
  return report;
}

}  // namespace sagabox
