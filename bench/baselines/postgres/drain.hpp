#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Relays as one writes them by hand for the same table, without an engine around: what comes is
/// handed to a handler that does nothing. Each throws when it has not settled exactly `rows`.
namespace sagabox::bench::by_hand {

struct Load {
  std::string url;
  std::int64_t rows = 0;  ///< pending at the start
  int batch = 1000;       ///< rows a statement
  int connections = 1;    ///< each with a thread of its own
  bool retain = false;    ///< moved to the archive, else deleted
};

/// Owns the shards, each connection some of them, and reads each by sequence: a batch is settled
/// under the fence and the next read in one round trip. Rows a second.
double owner_loop(const Load& load);

/// Leases each row (UPDATE … SKIP LOCKED), then settles it. The lease stands in `due`, as our
/// indexes would have it, or in a column that no index has.
enum class LeaseIn { indexed_column, plain_column };
double skip_locked_loop(const Load& load, LeaseIn lease);

/// The columns that a handler can see.
inline constexpr std::string_view message_columns =
    "seq, shard, id, tenant, topic, aggregate_type, aggregate_id, key, attempts, content_type, "
    "headers, occurred_at, traceparent, tracestate, request_id, correlation_id, digest, payload";
inline constexpr int payload_column = 17;

}  // namespace sagabox::bench::by_hand
