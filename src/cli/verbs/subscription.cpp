#include "cli/exit_codes.hpp"
#include "cli/verbs/hub_arguments.hpp"
#include "cli/verbs/hub_texts.hpp"
#include "cli/views/hub_json.hpp"
#include "cli/views/hub_view.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <utility>

namespace sagabox::cli {
namespace {

/// The settings that were typed; nullopt if there were none.
std::optional<std::string> settings_of(const SubscriptionSettingsArguments& typed) {
  const bool parts = !typed.filter.empty() || !typed.order.empty() || !typed.mode.empty() ||
                     !typed.headers.empty();
  if (!typed.settings.empty()) {
    if (parts) {
      throw WrongUse(
          "--settings has all of them: leave out --filter, --order, --mode and --header");
    }
    return hub_json_text("--settings", typed.settings);
  }
  if (!parts) return std::nullopt;
  wire::JsonOut json;
  json.begin_object();
  if (!typed.filter.empty()) {
    json.name("filter").raw(hub_json_text("--filter", typed.filter));
  }
  json.field_if("order", typed.order).field_if("mode", typed.mode);
  if (!typed.headers.empty()) {
    json.name("headers").begin_object();
    for (const auto& [name, value] : hub_headers(typed.headers)) json.field(name, value);
    json.end_object();
  }
  return std::move(json.end_object()).take();
}

void print_subscription(Session& session, const SubscriptionView& subscription) {
  if (session.json()) {
    session.out().print(hub_json(subscription));
  } else {
    session.print(subscription_details(subscription, system_clock().wall_now()));
  }
}

SubscriptionView found_subscription(Session& session, const SubscriptionId& id,
                                    Admin::PayloadToo payload = Admin::PayloadToo::no) {
  auto found = session.operations().hub().subscription(id, payload).value();
  if (!found) throw nothing_of(session, "subscription", id.view());
  return *std::move(found);
}

}  // namespace

int run_subscription_add(const SubscriptionAddArguments& arguments) {
  auto order = arguments.order;
  order.settings = settings_of(arguments.settings).value_or("");
  order.verify = !arguments.no_proof;
  Session session(arguments);
  const auto created = right_use(session.operations().hub().create(order));
  if (session.json()) {
    session.out().print(hub_json(created));
    return exit_fine;
  }
  const auto& record = created.subscription.record;
  session.out().print(fmt::format("subscription {} is {}", record.id.view(),
                                  subscription_state_name(record.state)));
  if (created.secret) session.print(new_secret_lines(*created.secret));
  if (record.state == SubscriptionState::unverified) {
    session.out().print(fmt::format(
        "it matches nothing until its endpoint has proved itself: sagabox subscription verify {}",
        record.id.view()));
  }
  return exit_fine;
}

int run_subscription_change(const SubscriptionChangeArguments& arguments) {
  auto change = arguments.change;
  if (!arguments.types.empty()) change.types = arguments.types;
  change.settings = settings_of(arguments.settings);
  change.verify = !arguments.no_proof;
  if (!change.name && !change.types && !change.target && !change.settings) {
    throw WrongUse("what is to change? say --name, --type, --target or --settings");
  }
  Session session(arguments);
  print_subscription(session, right_use(session.operations().hub().change(change)));
  return exit_fine;
}

int run_subscription_list(const SubscriptionListArguments& arguments) {
  Session session(arguments);
  const auto page = right_use(session.operations().hub().subscriptions(arguments.query));
  if (session.json()) {
    session.out().print(hub_json(page));
    return exit_fine;
  }
  session.print(subscription_list(page.rows));
  say_more(session, page.next);
  return exit_fine;
}

int run_subscription_show(const SubscriptionArguments& arguments) {
  const auto payload = arguments.payload ? Admin::PayloadToo::yes : Admin::PayloadToo::no;
  Session session(arguments);
  print_subscription(session, found_subscription(session, arguments.id, payload));
  return exit_fine;
}

int run_subscription_act(const SubscriptionArguments& arguments) {
  Session session(arguments);
  auto& hub = session.operations().hub();
  if (arguments.what == SubscriptionAct::disable) {
    const auto found = found_subscription(session, arguments.id);
    const auto name = found.record.name.empty() ? arguments.id.str() : found.record.name;
    if (arguments.act.dry_run) {
      session.out().print(session.json()
                              ? hub_json(found)
                              : "would disable " + name + ", and its open deliveries would die");
      return exit_fine;
    }
    const auto question = "Disable " + name + "? Its open deliveries die.";
    if (!confirmed(question, arguments.act.yes)) return nothing_done();
  }
  const auto subscription = right_use(hub.act(arguments.id, arguments.what, arguments.note));
  if (session.json()) {
    session.out().print(hub_json(subscription));
    return exit_fine;
  }
  session.out().print(fmt::format("subscription {} is {}", arguments.id.view(),
                                  subscription_state_name(subscription.record.state)));
  return exit_fine;
}

int run_subscription_verify(const SubscriptionArguments& arguments) {
  const auto proof = arguments.no_proof ? HubAdmin::Proof::none : HubAdmin::Proof::challenge;
  Session session(arguments);
  const auto verified = right_use(session.operations().hub().verify(arguments.id, proof));
  const bool works = verified.subscription.record.state != SubscriptionState::unverified;
  if (session.json()) {
    session.out().print(hub_json(verified));
    return works ? exit_fine : exit_failed;
  }
  if (verified.report) session.out().print(probe_line(*verified.report));
  session.out().print(fmt::format("subscription {} is {}", arguments.id.view(),
                                  subscription_state_name(verified.subscription.record.state)));
  return works ? exit_fine : exit_failed;
}

int run_subscription_ping(const SubscriptionArguments& arguments) {
  Session session(arguments);
  const auto report = right_use(session.operations().hub().ping(arguments.id));
  session.out().print(session.json() ? Line(hub_json(report)) : probe_line(report));
  return report.passed ? exit_fine : exit_failed;
}

int run_subscription_rotate(const SubscriptionArguments& arguments) {
  Session session(arguments);
  const auto secret =
      right_use(session.operations().hub().rotate_secret(arguments.id, arguments.overlap));
  if (session.json()) {
    session.out().print(hub_json(secret));
  } else {
    session.print(new_secret_lines(secret));
  }
  return exit_fine;
}

int run_subscription_health(const SubscriptionArguments& arguments) {
  if (arguments.since > HubAdmin::health_since_max) {
    throw WrongUse("--since: " + age_text(arguments.since) + "; give at most " +
                   age_text(HubAdmin::health_since_max));
  }
  Session session(arguments);
  const auto health = right_use(session.operations().hub().health(arguments.id, arguments.since));
  if (!health) throw nothing_of(session, "subscription", arguments.id.view());
  if (session.json()) {
    session.out().print(hub_json(*health));
  } else {
    session.print(health_lines(*health, system_clock().wall_now()));
  }
  return exit_fine;
}

}  // namespace sagabox::cli
