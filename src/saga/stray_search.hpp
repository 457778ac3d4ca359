#pragma once

#include "observe/error_metrics.hpp"
#include "runtime/periodic_work.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/saga_store.hpp>
#include <sagabox/time.hpp>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::saga {

/// Looks for active sagas that nothing would move: not due, not waiting, not held, no call under
/// way. There should be none. Those without a due time are read a page at a time, at a low rate.
class StraySearch final : public runtime::PeriodicWork {
 public:
  static constexpr Duration interval = std::chrono::minutes(5);
  static constexpr Duration page_interval = std::chrono::milliseconds(200);
  static constexpr std::uint32_t rows_max = 200;
  /// Strays of a definition that are named; more are only counted.
  static constexpr std::size_t named_max = 100;

  struct Parts {
    spi::SagaAdminStore* store = nullptr;  ///< null: does nothing
    const Clock& clock;
    Metrics& metrics;
    Logger& log;
    /// The definitions that this process looks through now.
    std::function<std::vector<std::string>()> mine;
  };
  explicit StraySearch(Parts parts) : parts_(std::move(parts)), errors_(parts_.metrics) {}

  bool step() override;
  [[nodiscard]] BootTime next(BootTime now) const override;

 private:
  void look_at(const SagaRecord& record);
  void end_of(const std::string& definition);

  const Parts parts_;
  ErrorMetrics errors_;
  BootTime due_{};
  bool begun_ = false;
  std::vector<std::string> left_;  ///< definitions of this pass; the last one is looked through
  SagaId after_{};
  std::uint64_t found_ = 0;         ///< of that definition
  std::set<SagaId> named_;          ///< in this pass
  std::set<SagaId> named_before_;   ///< in the pass before: not named again
  std::set<std::string> reported_;  ///< definitions whose gauge is not 0
};

}  // namespace sagabox::saga
