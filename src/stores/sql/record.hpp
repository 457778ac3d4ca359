#pragma once

#include "stores/sql/rows.hpp"

#include <sagabox/records.hpp>

#include <memory>
#include <string>

namespace sagabox::sql {

/// A message as an operator sees it.
struct Record {
  MessageRecord record;
  /// Null if it cannot be decoded. The payload is empty if it was not read.
  std::shared_ptr<const Message> message;
  /// Also set for a message that cannot be decoded.
  std::string tenant;
};

/// Columns from `first` on: state, sequence, shard, attempts, replays, written_at, due, retrying,
/// ended_at, code, error, note, history, bytes of the payload; id, tenant, topic, aggregate_type,
/// aggregate_id, key, priority, is_json, content_type, headers, occurred_at, not_before,
/// traceparent, tracestate, request_id, correlation_id, digest; whether the message was never
/// checked; payload or NULL.
Record decode_record(const Row& row, int first = 0, bool with_history = false);

/// The message of a record for the audit log. Its payload may be missing or wrong: only its digest
/// counts. Null if it cannot be decoded.
std::shared_ptr<const Message> audited_message(const Row& row, int first = 0);

}  // namespace sagabox::sql
