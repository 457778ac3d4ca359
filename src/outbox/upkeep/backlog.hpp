#pragma once

#include "observe/error_metrics.hpp"

#include <sagabox/id.hpp>
#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/outbox_admin_store.hpp>
#include <sagabox/time.hpp>

#include <optional>

namespace sagabox::outbox {

/// Exports the numbers of pending and dead messages of a table, as counted by the store. Must be
/// used by one thread.
class Backlog {
 public:
  static constexpr Duration look_interval = std::chrono::seconds(1);
  /// The minimum interval of log lines while the store keeps failing.
  static constexpr Duration log_interval = std::chrono::seconds(60);

  /// All arguments outlive the backlog.
  Backlog(spi::OutboxAdminStore& store, const TableName& table, Metrics& metrics, Logger& log);

  /// Reads the counts if they are due; never if metrics are disabled. After an error the metrics
  /// keep their values; they are not set before the first answer.
  void look(BootTime now);

 private:
  void failed(const Error& error, BootTime now);

  spi::OutboxAdminStore& store_;
  const TableName& table_;
  Metrics& metrics_;
  Logger& log_;
  ErrorMetrics errors_;
  std::optional<BootTime> looked_;
  std::optional<BootTime> logged_;
};

}  // namespace sagabox::outbox
