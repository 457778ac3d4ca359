#include "assembly/settings_of_hub.hpp"

#include "assembly/configuration.hpp"
#include "assembly/describe.hpp"

namespace sagabox::assembly {
namespace {

std::vector<Setting> event_type_parts() {
  using Held = EventTypeSettings;
  std::vector<Setting> parts;
  parts.push_back(value<Held>("type", &Held::type, "such as `shop.order.placed.v1`"));
  parts.push_back(value<Held>("description", &Held::description, "for people"));
  Setting schema = value<Held>("schema_file", &Held::schema_file,
                               "JSON Schema (draft 4); events whose payload does not fit are "
                               "refused when they are published",
                               Setting::Kind::path);
  schema.read = [](const Setting&, void* holder, const std::string& text) {
    auto& type = *static_cast<Held*>(holder);
    auto problem = read_schema_file(text, type.schema);
    if (problem.empty()) type.schema_file = text;
    return problem;
  };
  parts.push_back(std::move(schema));
  return parts;
}

void add_hub_work(std::vector<Setting>& parts) {
  using Held = HubSettings;
  parts.push_back(
      values<Held>("roles", &Held::roles,
                   "what this daemon does: `router`, `orchestrator`, `worker`, "
                   "`cleaner`; default: all. On SQLite one process works, others stand by"));
  parts.push_back(value<Held>(
                      "requests_max", [](auto& h) -> auto& { return h.options.requests_max; },
                      "requests that this daemon has in hand at most")
                      .between("1", "100000"));
  parts.push_back(value<Held>(
                      "in_progress_max", [](auto& h) -> auto& { return h.options.in_progress_max; },
                      "deliveries in progress at most, of those that this daemon decides about")
                      .between("1", "1000000"));
  parts.push_back(value<Held>(
                      "retention", [](auto& h) -> auto& { return h.options.retention; },
                      "how long completed deliveries and their events are kept; 0: for ever")
                      .between("0", "3650d"));
  parts.push_back(value<Held>(
                      "dead_retention", [](auto& h) -> auto& { return h.options.dead_retention; },
                      "how long dead deliveries are kept; 0: for ever")
                      .between("0", "3650d"));
  parts.push_back(value<Held>(
                      "poll_interval", [](auto& h) -> auto& { return h.options.poll_interval; },
                      "how often a store that wakes nobody is looked at")
                      .between("1ms", "1m"));
  parts.push_back(value<Held>(
                      "lease", [](auto& h) -> auto& { return h.options.lease; },
                      "after which the deliveries of a process that is gone are taken over")
                      .between("1s", "1h"));
  parts.push_back(value<Held>(
                      "request_timeout_max",
                      [](auto& h) -> auto& { return h.options.request_timeout_max; },
                      "no request takes longer, whatever `timeout` its subscription asks for")
                      .between("100ms", "2m"));
  parts.push_back(value<Held>(
                      "job_lease", [](auto& h) -> auto& { return h.options.job_lease; },
                      "after which the requests of a worker that is gone are made by another: at "
                      "least `request_timeout_max` and 10s; 0: the longest `timeout` of a "
                      "subscription and 30s")
                      .between("0", "1h"));
  parts.push_back(value<Held>(
                      "drain_timeout", [](auto& h) -> auto& { return h.options.drain_timeout; },
                      "how long a stop waits for requests that are under way")
                      .between("0", "1h"));
}

}  // namespace

Setting hub_settings() {
  using Held = HubSettings;
  std::vector<Setting> parts;
  parts.push_back(value<Held>("enabled", &Held::enabled, "this daemon has a delivery hub"));
  parts.push_back(
      value<Held>("store", &Held::store, "where it is; may be left out where there is one store"));
  parts.push_back(value<Held>("secret_key", &Held::secret_key,
                              "seals the secrets of HTTP endpoints: `ID:BASE64` of 32 random "
                              "bytes; several with a comma between while one replaces another, "
                              "the first one seals. Default: none, and then no HTTP endpoints")
                      .hidden());
  parts.push_back(values<Held>("transports", &Held::transports,
                               "what targets of subscriptions may go by; default: `http`. Keys of "
                               "tenants make HTTP endpoints only"));
  parts.push_back(list<Held>("event_types", &Held::event_types, event_type_parts(),
                             "the catalogue of event types; a type alone is enough")
                      .short_for("type"));
  parts.push_back(value<Held>("known_types_only", &Held::known_types_only,
                              "events of types that are not in the catalogue are refused"));
  parts.push_back(value<Held>("subscriptions_max", &Held::subscriptions_max,
                              "subscriptions that a tenant may have, those that are disabled aside")
                      .between("1", "1000000"));
  add_hub_work(parts);
  return section<Configuration>("hub", &Configuration::hub, std::move(parts),
                                "events, subscriptions and deliveries: docs/hub.md")
      .checked(own_check<Held>());
}

}  // namespace sagabox::assembly
