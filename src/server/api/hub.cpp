#include "server/api/hub.hpp"

#include "core/text.hpp"

namespace sagabox::server {

Result<HubAdmin> hub_admin_of(const Call& call) {
  const auto& hub = call.options.hub;
  if (!hub) {
    return Error{Code::tx_invalid_state,
                 "this daemon has no delivery hub; set hub.enabled in its configuration"};
  }
  return HubAdmin::open(*hub->store, {.admin = {.actor = call.caller.actor,
                                                .tenant = call.caller.tenant,
                                                .metrics = call.options.metrics,
                                                .audit = call.options.audit,
                                                .log = call.options.log,
                                                .clock = call.options.clock},
                                      .secret_key = hub->secret_key,
                                      .probe = hub->probe,
                                      .check_target = hub->check_target,
                                      .check_event = hub->check_event,
                                      .endpoint = hub->endpoint,
                                      .subscriptions_max = hub->subscriptions_max,
                                      .changed = hub->changed});
}

Result<Admin::PayloadToo> payload_too(const Call& call, bool asked) {
  if (asked && !call.caller.payloads) {
    return Error{Code::auth_denied,
                 "this key may not see payloads; leave payload=true out, or use a key that was "
                 "made with --payloads"};
  }
  return asked ? Admin::PayloadToo::yes : Admin::PayloadToo::no;
}

Response nothing_there(const Call& call, std::string_view what) {
  return not_found(std::string(what) + " " + quoted(call.names.at(0)) + " is not there");
}

}  // namespace sagabox::server
