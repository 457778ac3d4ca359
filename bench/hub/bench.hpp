#pragma once

#include "bench/measure.hpp"
#include "bench/report.hpp"

/// The delivery hub with all its roles in this process, to a receiver on loopback that keeps its
/// connections. Each throws when a run has not completed exactly the deliveries of its events.
namespace sagabox::bench::hub {

/// Each event for one subscription, beside batches by hand that write the same rows and libcurl
/// alone that sends the same requests, one after the other.
void postgres_rate(const Size& size, Report& report);
/// Each event for ten.
void postgres_fanout(const Size& size, Report& report);
/// With five times `size.rows` completed deliveries stored, a million unless told.
void postgres_stored(const Size& size, Report& report);
/// From the call of publish to the receiver, idle.
void latency(const Size& size, Report& report);
void sqlite_rate(const Size& size, Report& report);

}  // namespace sagabox::bench::hub
