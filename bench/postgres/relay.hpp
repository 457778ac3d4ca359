#pragma once

#include "bench/postgres/world.hpp"

namespace sagabox::bench::postgres {

/// Drains `rows` with one outbox that owns every shard.
double drain(World& in, std::int64_t rows, const OutboxOptions& options);
/// The same with `several_processes`, for modes that need it.
double drain_shared(World& in, std::int64_t rows, const OutboxOptions& options);

}  // namespace sagabox::bench::postgres
