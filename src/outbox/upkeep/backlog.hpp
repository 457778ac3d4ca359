#pragma once

#include "observe/error_figures.hpp"

#include <sagabox/id.hpp>
#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/outbox_admin_store.hpp>
#include <sagabox/time.hpp>

#include <optional>

namespace sagabox::outbox {

/// Shows how much of a table waits and how much of it is dead, as the store counts it. Belongs to
/// one thread.
class Backlog {
 public:
  static constexpr Duration look_interval = std::chrono::seconds(1);
  /// A store that keeps failing is logged no more often.
  static constexpr Duration log_interval = std::chrono::seconds(60);

  /// All of it outlives the backlog.
  Backlog(spi::OutboxAdminStore& store, const TableName& table, Metrics& metrics, Logger& log);

  /// Asks the store when it is time to, and never when nobody reads metrics. After an error the
  /// figures stay as they were: not there at all before the first answer.
  void look(BootTime now);

 private:
  void failed(const Error& error, BootTime now);

  spi::OutboxAdminStore& store_;
  const TableName& table_;
  Metrics& metrics_;
  Logger& log_;
  ErrorFigures errors_;
  std::optional<BootTime> looked_;
  std::optional<BootTime> logged_;
};

}  // namespace sagabox::outbox
