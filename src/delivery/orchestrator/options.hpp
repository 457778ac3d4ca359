#pragma once

#include <sagabox/limits.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>

namespace sagabox::delivery {

struct OrchestratorOptions {
  /// Deliveries in progress at most, of all shards of this process.
  std::uint32_t in_progress_max = 8192;
  /// Of one subscription, however fast its endpoint answers. A small part of what a worker has in
  /// hand: an endpoint that hangs from now on keeps so many requests of others waiting.
  std::uint32_t window_max = 64;
  /// Deliveries of one subscription that are read ahead.
  std::uint32_t page_rows = 256;
  /// Of all subscriptions together: where there are more of them, less of each is read ahead, down
  /// to `page_rows_min`.
  std::size_t ready_max = 65'536;
  std::uint32_t page_rows_min = 8;
  /// One subscription begins so many before others have their turn.
  std::uint32_t turn_rows = 64;
  std::uint32_t batch_rows_max = 1000;
  /// Results in memory at most.
  std::uint32_t results_max = 8192;
  /// How often changes of subscriptions are read.
  Duration subscriptions_interval = std::chrono::seconds(1);
  /// How often all of them are read again, as a safety net.
  Duration reread_interval = std::chrono::minutes(5);
  /// How often each shard is asked for pending deliveries and ended jobs when nobody said anything.
  Duration look_interval = std::chrono::seconds(1);
  /// The same after another process may have written: it rises while looking is in vain.
  Duration notified_interval_min = std::chrono::milliseconds(5);
  Duration notified_interval_max = std::chrono::milliseconds(200);
  /// How often all deliveries in progress are read, to supply missing jobs.
  Duration scan_interval = std::chrono::minutes(1);
  Duration poll_interval = std::chrono::milliseconds(100);
  /// What the store refuses is tried again so often.
  Duration parked_interval = std::chrono::minutes(1);
  /// Jobs of completed deliveries are kept for so long at least.
  Duration history = Duration::max();
  BreakerOptions breaker{};
};

}  // namespace sagabox::delivery
