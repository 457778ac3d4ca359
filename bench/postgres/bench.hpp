#pragma once

#include "bench/measure.hpp"
#include "bench/report.hpp"

/// Outboxes on a PostgreSQL of this run's own, with the defaults users get, beside hand-written
/// loops on the same table. Each throws when a run has not settled exactly what it was given.
namespace sagabox::bench::postgres {

void drain_delete(const Size& size, Report& report);
void drain_vs_skip_locked(const Size& size, Report& report);
void drain_retain(const Size& size, Report& report);

}  // namespace sagabox::bench::postgres
