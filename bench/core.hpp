#pragma once

#include "bench/measure.hpp"
#include "bench/report.hpp"

namespace sagabox::bench {

/// The engine on the memory store, as `sagabox demo` runs it: Outbox::single_process and default
/// options. Each throws when a run has not settled exactly what it was given.
namespace core {
void dispatch(const Size& size, Report& report);
void hot(const Size& size, Report& report);
void write(const Size& size, Report& report);
}  // namespace core

}  // namespace sagabox::bench
