#pragma once

#include "bench/measure.hpp"
#include "bench/report.hpp"

/// The REST API on a PostgreSQL of this run's own, 64 connections, beside 64 connections that
/// insert the same rows by hand. Server and load share the machine. Throws when a message was lost
/// or doubled.
namespace sagabox::bench::rest {

/// One message a request.
void enqueue(const Size& size, Report& report);
/// A hundred a request.
void enqueue_batch(const Size& size, Report& report);

}  // namespace sagabox::bench::rest
