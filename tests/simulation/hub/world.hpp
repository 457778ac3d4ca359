#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sagabox::simulation {

/// A mistake that the simulation must find.
enum class HubVariant : std::uint8_t {
  real,
  router_without_unique_key,
  position_moved_before_deliveries,
  worker_retries,
  cleaner_touches_deliveries,
  result_counted_twice,
  jobs_without_begin,
  seen_before_it_is_applied,
};

struct HubReport {
  std::uint64_t seed = 0;
  std::optional<std::string> violation{};
  std::uint64_t events = 0;
  std::map<std::string, std::uint64_t> counts{};  ///< what happened, to see that it did
  std::string trace{};                            ///< the last lines
};

/// Several processes run all roles of the hub on one memory store, in virtual time, against
/// endpoints that answer, refuse, hang and are gone: crashes between any two calls of the store,
/// leases that run out, commits whose answer is lost, subscriptions that are paused and disabled.
HubReport simulate_hub(std::uint64_t seed, HubVariant variant = HubVariant::real);

}  // namespace sagabox::simulation
