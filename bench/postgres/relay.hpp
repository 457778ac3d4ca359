#pragma once

#include "bench/postgres/world.hpp"

#include <vector>

namespace sagabox::bench::postgres {

OutboxOptions deleting();

/// Drains `rows` with one outbox; rows a second from the moment it owns every shard until the
/// last is settled.
double drain(World& in, std::int64_t rows, const OutboxOptions& options);
/// The same with `several_processes`, for modes that need it.
double drain_shared(World& in, std::int64_t rows, const OutboxOptions& options);

/// Returns when so many were settled; throws when nothing moves for 30 s.
void await_delivered(const Outbox& outbox, std::uint64_t count);
/// By all of them together.
void await_all_delivered(const std::vector<Outbox>& outboxes, std::uint64_t count);
void await_shards(const Outbox& outbox, std::uint32_t count);

}  // namespace sagabox::bench::postgres
