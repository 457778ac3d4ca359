#pragma once

#include "runtime/periodic_work.hpp"

#include <sagabox/log.hpp>
#include <sagabox/spi/saga_store.hpp>
#include <sagabox/time.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::saga {

/// Removes sagas that ended well or were compensated longer ago than `retention`, a page at a time.
class Purger final : public runtime::PeriodicWork {
 public:
  static constexpr Duration interval = std::chrono::minutes(10);
  static constexpr std::uint32_t rows_max = 1000;

  /// `mine`: the definitions that this process purges now.
  Purger(spi::SagaAdminStore* store, const Clock& clock, Logger& log, Duration retention,
         std::function<std::vector<std::string>()> mine)
      : store_(store), clock_(clock), log_(log), retention_(retention), mine_(std::move(mine)) {}

  bool step() override;
  [[nodiscard]] BootTime next(BootTime now) const override;

 private:
  spi::SagaAdminStore* const store_;
  const Clock& clock_;
  Logger& log_;
  const Duration retention_;
  const std::function<std::vector<std::string>()> mine_;
  std::vector<std::string> left_;
  BootTime due_{};
  bool begun_ = false;
};

}  // namespace sagabox::saga
