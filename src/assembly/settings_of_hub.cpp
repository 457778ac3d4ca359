#include "assembly/settings_of_hub.hpp"

#include "assembly/configuration.hpp"
#include "assembly/describe.hpp"

namespace sagabox::assembly {

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
                               "what targets of subscriptions may go by. Tenants' own keys make "
                               "HTTP endpoints only"));
  return section<Configuration>("hub", &Configuration::hub, std::move(parts),
                                "events, subscriptions and deliveries: docs/hub.md")
      .checked(own_check<Held>());
}

}  // namespace sagabox::assembly
