#pragma once

#include "bench/measure.hpp"
#include "bench/report.hpp"

/// Outboxes on a PostgreSQL of this run's own, with the defaults users get, beside hand-written
/// loops on the same table. Each throws when a run has not settled exactly what it was given.
namespace sagabox::bench::postgres {

void tx_with_message(const Size& size, Report& report);
void tx_with_enqueue_function(const Size& size, Report& report);
void write_batch(const Size& size, Report& report);
void drain_delete(const Size& size, Report& report);
void drain_vs_skip_locked(const Size& size, Report& report);
void drain_retain(const Size& size, Report& report);
void drain_competing(const Size& size, Report& report);
/// At five times `size.rows`: a million unless told.
void drain_backlog(const Size& size, Report& report);
void drain_two_relays(const Size& size, Report& report);
void end_to_end(const Size& size, Report& report);
void latency_idle(const Size& size, Report& report);
void latency_busy(const Size& size, Report& report);
/// `size.seconds` (600) of writing and delivering; somebody holds a snapshot for a tenth of that.
void churn(const Size& size, Report& report);

/// Requests under a guard; with `size.rows` × 50 keys stored; keys in the caller's transaction.
void idempotency(const Size& size, Report& report);
void idempotency_stored(const Size& size, Report& report);
void inbox(const Size& size, Report& report);

/// Sagas of three steps that do nothing: many at once, and one alone.
void saga_rate(const Size& size, Report& report);
void saga_single(const Size& size, Report& report);
/// Memory with half of `size.rows` sagas that wait: 100,000 unless told.
void saga_active(const Size& size, Report& report);

}  // namespace sagabox::bench::postgres
