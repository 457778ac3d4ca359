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

/// What is done for a table now and then, beside its pipeline: reads what operators ask, purges,
/// looks for stray rows, runs replay jobs, shows the backlog.
class Upkeep final : public runtime::PeriodicWork {
 public:
  /// Who reads the pending rows.
  enum class Readers : std::uint8_t {
    relays,
    others,  ///< nobody of ours: pending rows are purged by their age, nothing is replayed
  };
  /// All of it outlives the upkeep. `controls` may be null: there is no relay here.
  Upkeep(Store& store, const TableName& table, const OutboxOptions& options, Readers readers,
         ControlReader* controls);

  /// For the worker that is then attached.
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
