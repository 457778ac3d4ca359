#pragma once

#include "bench/measure.hpp"
#include "bench/report.hpp"

namespace sagabox::bench {

/// The engine on the memory store, as `sagabox demo` runs it: Outbox::single_process and default
/// options. Throws when a run has not settled exactly what it was given.
void run_core(const Size& size, Report& report);

}  // namespace sagabox::bench
