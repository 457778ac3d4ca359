#pragma once

#include "observe/error_metrics.hpp"
#include "runtime/periodic_work.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/saga_store.hpp>
#include <sagabox/time.hpp>

#include <optional>
#include <string>
#include <vector>

namespace sagabox::saga {

/// Shows what waits in the store as gauges, one definition after the other. Every process that runs
/// a definition does: the gauges are the same in all of them.
class Backlog final : public runtime::PeriodicWork {
 public:
  static constexpr Duration interval = std::chrono::seconds(15);

  /// Without metrics, or a store that operators can ask, it does nothing.
  Backlog(spi::SagaAdminStore* store, std::vector<std::string> definitions, const Clock& clock,
          Metrics& metrics, Logger& log);

  bool step() override;
  [[nodiscard]] BootTime next(BootTime now) const override;

 private:
  void show(const std::string& definition, const spi::SagaBacklog& backlog);

  spi::SagaAdminStore* const store_;
  const std::vector<std::string> definitions_;
  const Clock& clock_;
  Metrics& metrics_;
  Logger& log_;
  ErrorMetrics errors_;
  std::size_t at_ = 0;  ///< whose turn it is
  BootTime due_{};
};

}  // namespace sagabox::saga
