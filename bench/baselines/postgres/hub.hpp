#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The rows of a delivery hub as one writes them by hand on the same tables: batches, each step
/// committed before the next begins, those that may be lost without waiting for the disk.
namespace sagabox::bench::by_hand {

struct HubLoopLoad {
  std::string url;
  std::int64_t events = 0;  ///< published and not routed
  std::vector<std::string> subscriptions{};
  int shards = 16;   ///< of events
  int batch = 2000;  ///< deliveries
  int connections = 2;
};

/// Deliveries a second; nothing is sent. Throws when it has not completed one of each event for
/// each subscription.
double hub_loop(const HubLoopLoad& load);

}  // namespace sagabox::bench::by_hand
