#include "server/api/hub_watch.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <string>

namespace sagabox::server {

wire::HubReadiness HubWatch::look(const ServedHub& hub) {
  const std::scoped_lock lock(mutex_);
  const auto now = clock_.boot_now();
  if (looked_at_ && now - *looked_at_ < limits_.look_interval) return found_;
  looked_at_ = now;
  found_ = look_now(hub);
  return found_;
}

wire::HubReadiness HubWatch::look_now(const ServedHub& hub) {
  const auto unrouted = hub.store->hub()->admin.unrouted(1);
  if (!unrouted.ok()) {
    return {.text = "its store does not answer: " + std::string(code_name(unrouted.error().code))};
  }
  const auto now = clock_.boot_now();
  if (!looked_at_ || unrouted->oldest != oldest_) moved_at_ = now;
  oldest_ = unrouted->oldest;
  wire::HubReadiness looked{.ready = true};
  if (!oldest_) return looked;
  const auto age = std::max(Duration(clock_.wall_now() - *oldest_), Duration{});
  looked.oldest_unrouted = age;
  const bool stuck = age > limits_.oldest_pending_max && now - moved_at_ > limits_.last_success_max;
  // Another daemon routes.
  looked.ready = !stuck || !hub.routes;
  if (!looked.ready) {
    looked.text = "its oldest event waits for " + age_text(age) + " to be routed";
  }
  return looked;
}

}  // namespace sagabox::server
