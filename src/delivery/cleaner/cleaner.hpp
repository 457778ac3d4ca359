#pragma once

#include "delivery/store_retry.hpp"
#include "observe/error_metrics.hpp"
#include "runtime/periodic_work.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/job_store.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <functional>

namespace sagabox::delivery {

/// What a cleaner works with; all of it outlives the cleaner.
struct CleanerParts {
  spi::JobStore& jobs;
  const Clock& clock;
  Metrics& metrics = no_metrics();
  Logger& log = no_log();
  /// Whether leases are looked at at this time.
  std::function<bool()> may_reset = [] { return true; };
};

struct CleanerOptions {
  std::uint32_t rows_max = 1000;
  /// How long a lease that has run out stays as it is, at most.
  Duration interval = std::chrono::seconds(5);
};

/// Takes leases away that have run out, so that other workers get the jobs. Needs no shard: any
/// number of them may run, and what two find at once is reset once.
class Cleaner final : public runtime::PeriodicWork {
 public:
  explicit Cleaner(CleanerParts parts, CleanerOptions options = {});

  /// At most one call of the store.
  bool step() override;
  [[nodiscard]] BootTime next(BootTime now) const override;

 private:
  const CleanerParts parts_;
  const CleanerOptions options_;
  ErrorMetrics errors_;
  Counter& reset_;
  Counter& failed_;
  StoreRetry retry_;
  BootTime due_{};
};

}  // namespace sagabox::delivery
