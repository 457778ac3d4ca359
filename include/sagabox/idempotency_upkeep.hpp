#pragma once

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/store.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <memory>

namespace sagabox {

struct IdempotencyUpkeepOptions {
  /// Keys of inboxes are kept so long after the last delivery, and up to
  /// `spi::inbox_renewal_interval` longer: at least as long as a message may be delivered again.
  Duration inbox_window = spi::inbox_window_default;
  Duration interval = std::chrono::minutes(1);
  std::uint32_t rows_max = 1000;  ///< of each kind, a transaction
  /// These outlive it.
  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
};

/// Removes expired keys of inboxes, notes of barriers and records of requests, for those of these
/// tables that exist. It works in small batches on its own thread until it is destroyed. Errors are
/// logged, and the next round tries again. Several processes may run it on one database at the same
/// time.
class IdempotencyUpkeep {
 public:
  /// The store outlives it. CONFIG.INVALID for invalid options.
  static Result<std::unique_ptr<IdempotencyUpkeep>> start(Store& store,
                                                          IdempotencyUpkeepOptions options = {});
  /// Waits for a batch that is under way.
  ~IdempotencyUpkeep();
  IdempotencyUpkeep(const IdempotencyUpkeep&) = delete;
  IdempotencyUpkeep& operator=(const IdempotencyUpkeep&) = delete;

 private:
  struct Parts;
  explicit IdempotencyUpkeep(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sagabox
