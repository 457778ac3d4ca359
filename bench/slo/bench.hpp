#pragma once

#include "bench/measure.hpp"
#include "bench/report.hpp"

/// The service levels of ordinary load: two daemons on a PostgreSQL of this run's own, `size.rate`
/// messages a second, each in a transaction of its own, one in a hundred refused once by an HTTP
/// receiver. Everything shares the machine. Throws when not everything is settled in the end.
namespace sagabox::bench::slo {

void ordinary_load(const Size& size, Report& report);

}  // namespace sagabox::bench::slo
