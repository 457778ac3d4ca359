#include "cli/option.hpp"
#include "cli/verbs/hub_arguments.hpp"
#include "cli/verbs/operator_verbs.hpp"
#include "core/text.hpp"

#include <array>
#include <limits>
#include <string>
#include <utility>

namespace sagabox::cli {
namespace {

constexpr const char* hub_group = "Delivery hub";

Result<std::string> hub_name(std::string_view text) {
  if (!text.empty()) return std::string(text);
  return Error{Code::config_invalid, "it is empty: say which, or leave the option out"};
}

Result<std::optional<SubscriptionState>> parse_subscription_state(std::string_view text) {
  if (const auto state = subscription_state_from_name(text)) return state;
  return Error{Code::config_invalid,
               quoted(text) + "; give unverified, active, paused or disabled"};
}

Result<std::optional<DeliveryState>> parse_delivery_state(std::string_view text) {
  if (const auto state = delivery_state_from_name(text)) return state;
  return Error{Code::config_invalid,
               quoted(text) + "; give pending, waiting, in_progress, completed or dead"};
}

Result<Duration> parse_overlap(std::string_view text) {
  if (text == "0") return Duration{};
  return parse_age(text);
}

template <class Value>
void add_hub_page(CLI::App& verb, Value& query) {
  add_option(
      verb, "--limit", "N", query.rows_max,
      [](std::string_view text) { return parse_count("limit", text, 1, HubAdmin::rows_max); },
      "at most so many, 20 unless told, up to 1000");
  verb.add_option("--after", query.cursor, "go on behind the page before, which named this")
      ->type_name("CURSOR");
}

template <class Arguments>
void add_hub_times(CLI::App& verb, Arguments& arguments, const std::string& since) {
  add_option(verb, "--since", "WHEN", arguments.since, parse_when, since + ": 2h, 7d, or a time");
  add_option(verb, "--until", "WHEN", arguments.until, parse_when, "and before then");
}

/// The key that encrypts secrets; a daemon has its own.
void add_secret_key(CLI::App& verb, StoreArguments& arguments) {
  verb.add_option("--secret-key-file", arguments.hub_key_file,
                  "with --store: has hub.secret_key, as the daemon's; else the key is in "
                  "$SAGABOX_HUB_SECRET_KEY")
      ->type_name("FILE")
      ->envname("SAGABOX_HUB_SECRET_KEY_FILE");
}

void add_event_publish(CLI::App& event, Chosen& run) {
  auto [publish, arguments] =
      add_verb(event, "publish", "Publishes an event to the delivery hub", run, run_event_publish);
  publish->footer(R"(Example:
  sagabox event publish shop.order.placed.v1 --payload '{"order":17}' --external-id order-17)");
  auto& order = arguments->order;
  publish->add_option("TYPE", order.type, "of the event: shop.order.placed.v1")
      ->type_name("")
      ->required();
  publish->add_option("--payload", arguments->payload, "JSON; - reads it from standard input")
      ->type_name("JSON");
  publish->add_option("--payload-file", arguments->payload_file, "the bytes of this file")
      ->type_name("FILE");
  add_option(*publish, "--key", "KEY", order.key, hub_name,
             "subscriptions may ask for the order of a key");
  add_option(*publish, "--source", "NAME", order.source, hub_name, "who tells it");
  add_option(*publish, "--external-id", "ID", order.external_id, hub_name,
             "its id there: told again by the same source, it is the same event");
  add_option(*publish, "--tenant", "TENANT", order.tenant, hub_name,
             "\"default\" unless told, or the one that the API key is bound to");
  add_option(*publish, "--correlation-id", "ID", order.trace.correlation_id, hub_name,
             "goes along with every delivery");
  publish->add_option("--header", arguments->headers, "goes with it; may be given again")
      ->type_name("NAME:VALUE");
  publish->add_option("--content-type", order.content_type, "unless it follows from the payload")
      ->type_name("TYPE");
}

void add_events(CLI::App& app, Chosen& run) {
  auto* event = app.add_subcommand("event", "Events of the delivery hub: publish, list, show");
  event->group(hub_group)->require_subcommand(1);
  add_event_publish(*event, run);
  {
    auto [list, arguments] =
        add_verb(*event, "list", "Events, the newest first", run, run_event_list);
    list->footer(R"(Example:
  sagabox event list --type shop.order.placed.v1 --since 2h)");
    auto& filter = arguments->query.filter;
    add_option(*list, "--type", "TYPE", filter.type, hub_name, "only of this type");
    add_option(*list, "--key", "KEY", filter.key, hub_name, "only of this key");
    add_option(*list, "--source", "NAME", filter.source, hub_name, "only told by this one");
    add_option(*list, "--external-id", "ID", filter.external_id, hub_name, "only with this id");
    add_option(*list, "--tenant", "TENANT", filter.tenant, hub_name, "only of this tenant");
    add_hub_times(*list, *arguments, "only those published since then");
    add_hub_page(*list, arguments->query);
  }
  auto [show, arguments] = add_verb(*event, "show", "One event", run, run_event_show);
  show->footer(R"(Example:
  sagabox event show 01JC9Y3B6W8QK3T5V0ZC2N7A4F --payload)");
  add_option(*show, "ID", "", arguments->id, EventId::parse, "of the event")->required();
  show->add_flag("--payload", arguments->payload, "its headers and payload, too");
}

void add_settings_options(CLI::App& verb, SubscriptionSettingsArguments& settings) {
  verb.add_option("--settings", settings.settings,
                  "all settings as JSON, see docs/hub.md; - reads them from standard input")
      ->type_name("JSON");
  verb.add_option("--filter", settings.filter, "which events it wants, by their payload")
      ->type_name("JSON");
  verb.add_option("--order", settings.order, "any (unless told), or key")->type_name("ORDER");
  verb.add_option("--mode", settings.mode, "binary (unless told), or structured")
      ->type_name("MODE");
  verb.add_option("--header", settings.headers, "goes with each request; may be given again")
      ->type_name("NAME:VALUE");
}

void add_subscription_add(CLI::App& subscription, Chosen& run) {
  auto [add, arguments] =
      add_verb(subscription, "add", "Makes a subscription, and says the secret of its endpoint",
               run, run_subscription_add);
  add->footer(R"(Examples:
  sagabox subscription add https://hooks.example.com/shop --type 'shop.order.*.v1' --name shop
  sagabox subscription add https://hooks.example.com/shop --type 'shop.**' --order key \
    --filter '{"order.total":{"gte":100}}')");
  auto& order = arguments->order;
  add->add_option("TARGET", order.target, "where to: https://host/path, or that of a route")
      ->type_name("")
      ->required();
  add->add_option("--type", order.types, "pattern of event types; may be given again")
      ->type_name("PATTERN")
      ->required();
  add_option(*add, "--name", "NAME", order.name, hub_name, "for people");
  add_option(*add, "--tenant", "TENANT", order.tenant, hub_name,
             "\"default\" unless told, or the one that the API key is bound to");
  add_settings_options(*add, arguments->settings);
  add->add_flag("--no-proof", arguments->no_proof,
                "it is active at once, whatever its endpoint answers");
  add_secret_key(*add, *arguments);
}

void add_subscription_id(CLI::App& verb, SubscriptionId& id) {
  add_option(verb, "ID", "", id, SubscriptionId::parse, "of the subscription")->required();
}

void add_subscription_change(CLI::App& subscription, Chosen& run) {
  auto [change, arguments] =
      add_verb(subscription, "change", "Changes a subscription; what is left out stays", run,
               run_subscription_change);
  change->footer(R"(Example:
  sagabox subscription change 01JC9Y3B6W8QK3T5V0ZC2N7A4F --type 'shop.**' --settings '{}')");
  add_subscription_id(*change, arguments->change.id);
  add_option(*change, "--name", "NAME", arguments->change.name, hub_name, "for people");
  add_option(*change, "--target", "URL", arguments->change.target, hub_name,
             "another HTTP endpoint proves itself now, or nothing is changed");
  change->add_option("--type", arguments->types, "instead of those there are; may be given again")
      ->type_name("PATTERN");
  add_settings_options(*change, arguments->settings);
  add_option(
      *change, "--if-version", "N", arguments->change.version,
      [](std::string_view text) {
        auto count = parse_count("version", text, 1, std::numeric_limits<std::uint32_t>::max());
        if (!count.ok()) return Result<std::uint64_t>(count.error());
        return Result<std::uint64_t>(*count);
      },
      "only if it still has this version");
  change->add_flag("--no-proof", arguments->no_proof, "another endpoint need not prove itself");
}

void add_subscription_looks(CLI::App& subscription, Chosen& run) {
  {
    auto [list, arguments] =
        add_verb(subscription, "list", "Subscriptions, by id", run, run_subscription_list);
    list->footer(R"(Example:
  sagabox subscription list --state disabled)");
    auto& filter = arguments->query.filter;
    add_option(*list, "--state", "STATE", filter.state, parse_subscription_state,
               "only unverified, active, paused or disabled ones");
    add_option(*list, "--name", "NAME", filter.name, hub_name, "only of this name");
    add_option(*list, "--tenant", "TENANT", filter.tenant, hub_name, "only of this tenant");
    add_hub_page(*list, arguments->query);
  }
  {
    auto [show, arguments] = add_verb(subscription, "show", "One subscription; never its secrets",
                                      run, run_subscription_show);
    show->footer(R"(Example:
  sagabox subscription show 01JC9Y3B6W8QK3T5V0ZC2N7A4F)");
    add_subscription_id(*show, arguments->id);
    show->add_flag("--payload", arguments->payload,
                   "values of headers and parameters of the target, too");
  }
  auto [health, arguments] =
      add_verb(subscription, "health", "How its attempts went, and what waits", run,
               run_subscription_health);
  health->footer(R"(Example:
  sagabox subscription health 01JC9Y3B6W8QK3T5V0ZC2N7A4F --since 1h)");
  add_subscription_id(*health, arguments->id);
  add_option(*health, "--since", "AGE", arguments->since, parse_age,
             "how far back attempts are counted, 24h unless told");
}

/// A verb that acts on one subscription; the caller adds its options.
std::pair<CLI::App*, std::shared_ptr<SubscriptionArguments>> add_subscription_act(
    CLI::App& subscription, Chosen& run, const std::string& name, const std::string& description,
    int (*act)(const SubscriptionArguments&)) {
  auto [verb, arguments] = add_verb(subscription, name, description, run, act);
  verb->footer("Example:\n  sagabox subscription " + name + " 01JC9Y3B6W8QK3T5V0ZC2N7A4F");
  add_subscription_id(*verb, arguments->id);
  return {verb, arguments};
}

void add_subscription_acts(CLI::App& subscription, Chosen& run) {
  using Act = SubscriptionAct;
  const std::array<std::pair<Act, const char*>, subscription_act_count> acts{
      {{Act::pause, "Its events are matched, and their deliveries wait"},
       {Act::resume, "A paused subscription goes on"},
       {Act::disable, "It matches nothing any more, and its open deliveries die"},
       {Act::enable, "A disabled one is there again; an HTTP endpoint has to prove itself"}}};
  for (const auto& [what, description] : acts) {
    auto [verb, arguments] =
        add_subscription_act(subscription, run, std::string(subscription_act_name(what)),
                             description, run_subscription_act);
    arguments->what = what;
    verb->add_option("--note", arguments->note, "why, for who finds it so, and the audit log")
        ->type_name("TEXT");
    if (what == Act::disable) add_yes_options(*verb, arguments->act);
  }
  {
    auto [verb, arguments] = add_subscription_act(
        subscription, run, "verify", "Asks the endpoint to prove itself; active if it does",
        run_subscription_verify);
    verb->add_flag("--no-proof", arguments->no_proof, "active without asking it");
    add_secret_key(*verb, *arguments);
  }
  {
    auto [verb, arguments] = add_subscription_act(
        subscription, run, "ping", "Sends a test event to the endpoint", run_subscription_ping);
    add_secret_key(*verb, *arguments);
  }
  auto [verb, arguments] = add_subscription_act(
      subscription, run, "rotate-secret",
      "Makes a new secret; the ones before go on signing for a while", run_subscription_rotate);
  add_option(*verb, "--overlap", "AGE", arguments->overlap, parse_overlap,
             "how long the secrets before sign, too: 24h unless told, at most 30d; 0: not at all");
  add_secret_key(*verb, *arguments);
}

void add_subscriptions(CLI::App& app, Chosen& run) {
  auto* subscription = app.add_subcommand(
      "subscription", "Who is told of which events: add, list, show, verify, pause, health");
  subscription->group(hub_group)->require_subcommand(1);
  add_subscription_add(*subscription, run);
  add_subscription_change(*subscription, run);
  add_subscription_looks(*subscription, run);
  add_subscription_acts(*subscription, run);
}

void add_delivery_filter(CLI::App& verb, spi::DeliveryFilter& filter) {
  add_option(verb, "--subscription", "ID", filter.subscription, SubscriptionId::parse,
             "only to this one");
  add_option(verb, "--event", "ID", filter.event, EventId::parse, "only of this event");
  add_option(verb, "--type", "TYPE", filter.type, hub_name, "only of this type of event");
  add_option(verb, "--code", "CODE", filter.code, parse_code,
             "only those whose last failure has this code: PROVIDER.REJECTED");
  add_option(verb, "--tenant", "TENANT", filter.tenant, hub_name, "only of this tenant");
}

void add_delivery_requeue(CLI::App& delivery, Chosen& run) {
  auto [verb, given] =
      add_verb(delivery, "requeue", "Sends dead deliveries again; what is dead stays as it is", run,
               run_delivery_requeue);
  const auto& arguments = given;
  verb->footer(R"(Examples:
  sagabox delivery requeue d0a1b2c3d4e5f60718293a4b5c6d7e8f9
  sagabox delivery requeue --subscription 01JC9Y3B6W8QK3T5V0ZC2N7A4F --since 2h --dry-run
  sagabox delivery requeue --subscription 01JC9Y3B6W8QK3T5V0ZC2N7A4F --since 2h --rate 50/s)");
  verb->add_option_function<std::vector<std::string>>(
          "ID",
          [arguments](const std::vector<std::string>& texts) {
            for (const auto& text : texts) {
              auto id = DeliveryId::parse(text);
              if (!id.ok()) throw CLI::ValidationError("ID", id.error().message);
              arguments->ids.push_back(*id);
            }
          },
          "these deliveries; none: all dead ones that fit the filter")
      ->type_name("");
  add_delivery_filter(*verb, arguments->filter);
  add_hub_times(*verb, *arguments, "only those that died since then");
  verb->add_flag("--all", arguments->all, "every dead delivery");
  add_option(*verb, "--rate", "N/s", arguments->rate_max, parse_rate,
             "not more a second; as fast as it goes unless told");
  verb->add_option("--note", arguments->note, "why, for the audit log")->type_name("TEXT");
  add_yes_options(*verb, arguments->act);
}

void add_deliveries(CLI::App& app, Chosen& run) {
  auto* delivery =
      app.add_subcommand("delivery", "Deliveries of events: list, count, show, explain, requeue");
  delivery->group(hub_group)->require_subcommand(1);
  {
    auto [list, arguments] =
        add_verb(*delivery, "list", "Deliveries, the newest first", run, run_delivery_list);
    list->footer(R"(Example:
  sagabox delivery list --subscription 01JC9Y3B6W8QK3T5V0ZC2N7A4F --state dead)");
    add_option(*list, "--state", "STATE", arguments->query.filter.state, parse_delivery_state,
               "only pending, waiting, in_progress, completed or dead ones");
    add_delivery_filter(*list, arguments->query.filter);
    add_hub_times(*list, *arguments, "only those made since then");
    add_hub_page(*list, arguments->query);
  }
  add_verb(*delivery, "count", "How many are open or dead, by subscription and state", run,
           run_delivery_count)
      .first->footer("Example:\n  sagabox delivery count");
  const auto add_one = [&](const std::string& name, const std::string& description,
                           int (*act)(const DeliveryShowArguments&)) {
    auto [verb, arguments] = add_verb(*delivery, name, description, run, act);
    verb->footer("Example:\n  sagabox delivery " + name + " d0a1b2c3d4e5f60718293a4b5c6d7e8f9");
    add_option(*verb, "ID", "", arguments->id, DeliveryId::parse, "of the delivery")->required();
    if (name == "show") {
      verb->add_flag("--payload", arguments->payload,
                     "the event's headers and payload and what the endpoint answered, too");
    }
  };
  add_one("show", "One delivery with its attempts", run_delivery_show);
  add_one("explain", "Why a delivery has not arrived", run_delivery_explain);
  add_delivery_requeue(*delivery, run);
}

}  // namespace

void add_delivery_verbs(CLI::App& app, Chosen& run) {
  add_events(app, run);
  add_subscriptions(app, run);
  add_deliveries(app, run);
}

}  // namespace sagabox::cli
