#include "cli/exit_codes.hpp"
#include "cli/signals.hpp"
#include "cli/verbs/hub_arguments.hpp"
#include "cli/verbs/hub_texts.hpp"
#include "cli/views/hub_json.hpp"
#include "cli/views/hub_view.hpp"
#include "cli/views/operator_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <utility>

namespace sagabox::cli {
namespace {

constexpr std::size_t deliveries_shown_max = 10;
constexpr std::size_t deliveries_selected_max = 100'000;
constexpr std::uint32_t requeue_rows = 500;

/// Matching dead deliveries, the oldest first: requeued in this order they keep the order of their
/// keys.
std::vector<DeliveryRecord> fitting_deliveries(Session& session, DeliveryQuery query) {
  query.rows_max = HubAdmin::rows_max;
  std::vector<DeliveryRecord> deliveries;
  do {
    auto page = right_use(session.operations().hub().deliveries(query));
    std::ranges::move(page.rows, std::back_inserter(deliveries));
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty() && deliveries.size() <= deliveries_selected_max);
  if (deliveries.size() > deliveries_selected_max) {
    throw WrongUse(fmt::format("more than {} deliveries fit; narrow them, by --since for instance",
                               grouped(deliveries_selected_max)));
  }
  std::ranges::reverse(deliveries);
  return deliveries;
}

std::vector<DeliveryRecord> named_deliveries(Session& session, std::span<const DeliveryId> ids) {
  std::vector<DeliveryRecord> deliveries;
  for (const auto& id : ids) {
    auto found = session.operations().hub().delivery(id, Admin::PayloadToo::no).value();
    if (!found) throw nothing_of(session, "delivery", id.view());
    if (found->delivery.state != DeliveryState::dead) {
      throw Failure({Code::tx_invalid_state,
                     fmt::format("delivery {} is {}, not dead; nothing was changed", id.view(),
                                 delivery_state_name(found->delivery.state))});
    }
    deliveries.push_back(std::move(found->delivery));
  }
  return deliveries;
}

void print_selected(Session& session, bool dry_run, std::span<const DeliveryRecord> deliveries) {
  if (session.json()) return;
  if (deliveries.empty()) {
    session.out().print(Line().add("no dead delivery fits", Style::faint));
    return;
  }
  session.out().print(fmt::format("{} {} be sent again, as the next generation:",
                                  deliveries_text(deliveries.size()), dry_run ? "would" : "will"));
  session.print(delivery_list(deliveries.first(std::min(deliveries.size(), deliveries_shown_max)),
                              system_clock().wall_now()));
  if (deliveries.size() > deliveries_shown_max) {
    session.out().print(
        Line().add(fmt::format("  and {} more", grouped(deliveries.size() - deliveries_shown_max)),
                   Style::faint));
  }
}

Line requeue_bar(std::uint64_t done, std::uint64_t whole) {
  return fmt::format("requeue  {}  {}/{}", progress_bar(done, whole), grouped(done),
                     grouped(whole));
}

/// Requeues them in batches, at the given rate; Ctrl-C stops between two batches.
std::vector<spi::Requeued> requeue_all(Session& session, const DeliveryRequeueArguments& arguments,
                                       std::span<const DeliveryRecord> deliveries) {
  StopSignals signals;
  const auto rate = arguments.rate_max;
  const std::size_t batch = rate == 0 ? requeue_rows : std::min(rate, requeue_rows);
  std::vector<spi::Requeued> results;
  const bool draws = session.out().interactive() && !session.json();
  for (std::size_t at = 0; at < deliveries.size(); at += batch) {
    std::vector<DeliveryId> ids;
    const auto part = deliveries.subspan(at, std::min(batch, deliveries.size() - at));
    for (const auto& delivery : part) ids.push_back(delivery.id);
    auto answers = session.operations().hub().requeue(ids, arguments.note);
    if (!answers.ok()) {
      throw Failure(
          {answers.error().code, fmt::format("{} (after {} of {})", answers.error().message,
                                             grouped(at), deliveries_text(deliveries.size()))});
    }
    std::ranges::move(*std::move(answers), std::back_inserter(results));
    if (draws) session.out().draw({requeue_bar(results.size(), deliveries.size())});
    const bool last = at + batch >= deliveries.size();
    const Duration pause =
        rate == 0 || last ? Duration{} : std::chrono::seconds(1) * static_cast<int>(batch) / rate;
    if (!last && signals.wait(pause) == StopSignals::Woken::stop) break;
  }
  return results;
}

int say_results(Session& session, std::span<const spi::Requeued> results, std::size_t wanted,
                bool named) {
  using Outcome = spi::Requeued::Outcome;
  const auto count = [&](Outcome outcome) {
    return static_cast<std::uint64_t>(
        std::ranges::count(results, outcome, &spi::Requeued::outcome));
  };
  const bool stopped = results.size() < wanted;
  if (session.json()) {
    session.out().print(hub_json(results));
  } else if (named) {
    for (const auto& result : results) session.out().print(requeued_line(result));
  } else {
    const auto before = results.size() - count(Outcome::made);
    session.out().print(
        fmt::format("{} requeued{}", deliveries_text(count(Outcome::made)),
                    before == 0 ? "" : fmt::format(", {} were before", grouped(before))));
  }
  if (stopped) {
    std::cerr << fmt::format(
        "sagabox: stopped after {} of {}; say it again to go on: what is requeued stays so\n",
        grouped(results.size()), deliveries_text(wanted));
    return exit_failed;
  }
  if (!named) return exit_fine;
  const bool all = count(Outcome::made) + count(Outcome::repeated) == results.size();
  return all ? exit_fine : exit_failed;
}

void check_which(const DeliveryRequeueArguments& arguments) {
  const auto& filter = arguments.filter;
  const bool narrowed = filter.tenant || filter.subscription || filter.event || filter.type ||
                        filter.code || arguments.since || arguments.until;
  const int ways = (arguments.ids.empty() ? 0 : 1) + (narrowed ? 1 : 0) + (arguments.all ? 1 : 0);
  if (ways == 1) return;
  throw WrongUse(ways == 0 ? "which deliveries? name their ids, give a filter (--subscription, "
                             "--since), or say --all"
                           : "ids, a filter and --all do not go together: give one of them");
}

}  // namespace

bool looks_like_delivery(std::string_view id) noexcept {
  constexpr std::size_t length = 33;
  return id.size() == length && id.front() == 'd' &&
         id.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

std::optional<DeliveryExplanation> explanation_of_delivery(Session& session, const MessageId& id) {
  if (!looks_like_delivery(id.view())) return std::nullopt;
  try {
    return session.operations().hub().explain(DeliveryId::parse(id.view()).value()).value();
  } catch (const Failure& failure) {
    // There is no hub, but it may be the id of a message.
    if (failure.error().code == Code::tx_invalid_state) return std::nullopt;
    throw;
  }
}

std::optional<DeliveryExplanation> explanation_of_subscription(Session& session,
                                                               const MessageArguments& arguments) {
  const auto id = SubscriptionId::parse(arguments.id.view());
  if (!id.ok() || !arguments.table.empty() || arguments.tenant) return std::nullopt;
  try {
    return session.operations().hub().explain(*id).value();
  } catch (const Failure&) {
    // There is no hub, or it cannot be asked: the search for a message will report the error.
    return std::nullopt;
  }
}

bool explained_event(Session& session, const MessageArguments& arguments) {
  const auto id = EventId::parse(arguments.id.view());
  if (!id.ok() || !arguments.table.empty() || arguments.tenant) return false;
  DeliveryPage page;
  try {
    auto& hub = session.operations().hub();
    if (!hub.event(*id, Admin::PayloadToo::no).value()) return false;
    page = hub.deliveries({.filter = {.event = *id}}).value();
  } catch (const Failure&) {
    return false;  // no hub, or it cannot be asked
  }
  if (session.json()) {
    session.out().print(hub_json(page));
    return true;
  }
  if (page.rows.empty()) {
    session.out().print(
        "an event of the hub, without a delivery: no subscription wanted it that was active when "
        "it was published, or it is not routed yet");
    return true;
  }
  session.print(delivery_list(page.rows, system_clock().wall_now()));
  session.out().print(
      Line().add("an event of the hub: explain one of its deliveries", Style::faint));
  return true;
}

int run_delivery_list(const DeliveryListArguments& arguments) {
  auto query = arguments.query;
  const auto now = system_clock().wall_now();
  if (arguments.since) query.filter.from = arguments.since->by(now);
  if (arguments.until) query.filter.to = arguments.until->by(now);
  Session session(arguments);
  const auto page = right_use(session.operations().hub().deliveries(query));
  if (session.json()) {
    session.out().print(hub_json(page));
    return exit_fine;
  }
  session.print(delivery_list(page.rows, now));
  say_more(session, page.next);
  return exit_fine;
}

int run_delivery_count(const DeliveryListArguments& arguments) {
  Session session(arguments);
  const auto counts = session.operations().hub().count().value();
  if (session.json()) {
    session.out().print(hub_json(std::span<const spi::DeliveryCount>(counts)));
  } else {
    session.print(delivery_count_list(counts, system_clock().wall_now()));
  }
  return exit_fine;
}

int run_delivery_show(const DeliveryShowArguments& arguments) {
  const auto payload = arguments.payload ? Admin::PayloadToo::yes : Admin::PayloadToo::no;
  Session session(arguments);
  const auto delivery = session.operations().hub().delivery(arguments.id, payload).value();
  if (!delivery) throw nothing_of(session, "delivery", arguments.id.view());
  if (session.json()) {
    session.out().print(hub_json(*delivery));
  } else {
    session.print(delivery_details(*delivery));
  }
  return exit_fine;
}

int run_delivery_explain(const DeliveryShowArguments& arguments) {
  Session session(arguments);
  const auto explanation = session.operations().hub().explain(arguments.id).value();
  if (!explanation) throw nothing_of(session, "delivery", arguments.id.view());
  session.out().print(session.json() ? hub_json(*explanation) : explanation->text());
  return exit_fine;
}

int run_delivery_requeue(const DeliveryRequeueArguments& arguments) {
  check_which(arguments);
  const auto now = system_clock().wall_now();
  DeliveryQuery query{.filter = arguments.filter};
  query.filter.state = DeliveryState::dead;
  if (arguments.since) query.ended_from = arguments.since->by(now);
  if (arguments.until) query.ended_to = arguments.until->by(now);
  Session session(arguments);
  const bool named = !arguments.ids.empty();
  const auto deliveries =
      named ? named_deliveries(session, arguments.ids) : fitting_deliveries(session, query);
  print_selected(session, arguments.act.dry_run, deliveries);
  if (arguments.act.dry_run) {
    if (session.json()) session.out().print(hub_json(DeliveryPage{deliveries, {}}));
    return exit_fine;
  }
  if (deliveries.empty()) {
    if (session.json()) session.out().print(hub_json(std::span<const spi::Requeued>()));
    return exit_fine;
  }
  const auto question = fmt::format("Send {} again?", deliveries_text(deliveries.size()));
  if (!confirmed(question, arguments.act.yes)) return nothing_done();
  const auto results = requeue_all(session, arguments, deliveries);
  return say_results(session, results, deliveries.size(), named);
}

}  // namespace sagabox::cli
