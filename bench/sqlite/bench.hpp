#pragma once

#include "bench/measure.hpp"
#include "bench/report.hpp"

/// Outboxes on a SQLite file, with the defaults users get, beside hand-written loops on the same
/// table with the same durability. Each throws when a run has not settled exactly what it was
/// given.
namespace sagabox::bench::sqlite {

void tx_with_message(const Size& size, Report& report);
void write_batch(const Size& size, Report& report);
void drain_delete(const Size& size, Report& report);
void drain_retain(const Size& size, Report& report);
/// At five times `size.rows`: a million unless told.
void drain_backlog(const Size& size, Report& report);
void hot(const Size& size, Report& report);
/// At five times `size.rows`, too.
void pending_memory(const Size& size, Report& report);

void idempotency(const Size& size, Report& report);

/// Sagas of three steps that do nothing: many at once, and one alone.
void saga_rate(const Size& size, Report& report);
void saga_single(const Size& size, Report& report);

}  // namespace sagabox::bench::sqlite
