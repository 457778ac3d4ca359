#pragma once

#include "outbox/upkeep/backlog.hpp"
#include "outbox/upkeep/control_reader.hpp"
#include "outbox/upkeep/purger.hpp"
#include "outbox/upkeep/replayer.hpp"
#include "ownership/worker.hpp"
#include "runtime/periodic_work.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/store.hpp>

#include <vector>

namespace sagabox::outbox {

/// The periodic work for a table besides its pipeline: reads requests of operators, purges,
/// searches for stray rows, runs replay jobs, exports the backlog.
class Upkeep final : public runtime::PeriodicWork {
 public:
  /// The readers of the pending rows.
  enum class Readers : std::uint8_t {
    relays,
    others,  ///< an external reader: pending rows are purged by age, nothing is replayed
  };
  /// All arguments outlive the upkeep. `controls` is null if there is no relay in this process.
  Upkeep(Store& store, const TableName& table, const OutboxOptions& options, Readers readers,
         ControlReader* controls);

  /// The scopes for the worker, which is attached afterwards.
  [[nodiscard]] std::vector<ownership::ScopeOptions> scopes();
  void attach(ownership::Worker& worker) noexcept { worker_ = &worker; }

  bool step() override;
  [[nodiscard]] BootTime next(BootTime now) const override;

 private:
  const TableName& table_;
  const Clock& clock_;
  const Readers readers_;
  ControlReader* controls_;
  ownership::Worker* worker_ = nullptr;
  Purger purger_;
  Replayer replayer_;
  Backlog backlog_;
};

}  // namespace sagabox::outbox
