#pragma once

#include <string_view>

/// Names without prefix; kinds, labels and help are in catalogue.cpp.
namespace sagabox::metric {

inline constexpr std::string_view outbox_enqueued_total = "outbox_enqueued_total";
inline constexpr std::string_view outbox_duplicates_total = "outbox_duplicates_total";
inline constexpr std::string_view outbox_suppressed_total = "outbox_suppressed_total";
inline constexpr std::string_view outbox_dispatched_total = "outbox_dispatched_total";
inline constexpr std::string_view outbox_retries_total = "outbox_retries_total";
inline constexpr std::string_view outbox_done_after_retry_total = "outbox_done_after_retry_total";
inline constexpr std::string_view outbox_dead_total = "outbox_dead_total";
inline constexpr std::string_view outbox_dispatch_seconds = "outbox_dispatch_seconds";
inline constexpr std::string_view outbox_latency_seconds = "outbox_latency_seconds";
inline constexpr std::string_view outbox_timeouts_total = "outbox_timeouts_total";

inline constexpr std::string_view outbox_hot_enqueued_total = "outbox_hot_enqueued_total";
inline constexpr std::string_view outbox_hot_dropped_total = "outbox_hot_dropped_total";
inline constexpr std::string_view outbox_cold_enqueued_total = "outbox_cold_enqueued_total";
inline constexpr std::string_view outbox_queue_depth = "outbox_queue_depth";
inline constexpr std::string_view outbox_queue_bytes = "outbox_queue_bytes";
inline constexpr std::string_view outbox_in_flight = "outbox_in_flight";
inline constexpr std::string_view outbox_spare_workers = "outbox_spare_workers";
inline constexpr std::string_view outbox_blocked_keys = "outbox_blocked_keys";

inline constexpr std::string_view outbox_pending = "outbox_pending";
inline constexpr std::string_view outbox_dead = "outbox_dead";
inline constexpr std::string_view outbox_oldest_seconds = "outbox_oldest_seconds";
inline constexpr std::string_view outbox_oldest_transaction_seconds =
    "outbox_oldest_transaction_seconds";
inline constexpr std::string_view outbox_slot_transactions = "outbox_slot_transactions";

inline constexpr std::string_view outbox_settle_batches_total = "outbox_settle_batches_total";
inline constexpr std::string_view outbox_settle_rows = "outbox_settle_rows";
inline constexpr std::string_view outbox_settle_missed_rows_total =
    "outbox_settle_missed_rows_total";
inline constexpr std::string_view outbox_refused = "outbox_refused";
inline constexpr std::string_view outbox_refused_parked_total = "outbox_refused_parked_total";
inline constexpr std::string_view outbox_unrouted_topics = "outbox_unrouted_topics";

inline constexpr std::string_view outbox_read_rows_total = "outbox_read_rows_total";
inline constexpr std::string_view outbox_late_rows_total = "outbox_late_rows_total";
inline constexpr std::string_view outbox_safety_rows_total = "outbox_safety_rows_total";

inline constexpr std::string_view outbox_purged_total = "outbox_purged_total";
inline constexpr std::string_view outbox_strays = "outbox_strays";
inline constexpr std::string_view outbox_replayed_total = "outbox_replayed_total";

inline constexpr std::string_view idempotency_hits_total = "idempotency_hits_total";
inline constexpr std::string_view idempotency_conflicts_total = "idempotency_conflicts_total";
inline constexpr std::string_view idempotency_runs_total = "idempotency_runs_total";
inline constexpr std::string_view idempotency_purged_total = "idempotency_purged_total";

inline constexpr std::string_view transport_sends_total = "transport_sends_total";
inline constexpr std::string_view transport_send_seconds = "transport_send_seconds";
inline constexpr std::string_view transport_destination_down = "transport_destination_down";

inline constexpr std::string_view relay_leader = "relay_leader";
inline constexpr std::string_view replay_total = "replay_total";

inline constexpr std::string_view ownership_shards = "ownership_shards";
inline constexpr std::string_view ownership_taken_total = "ownership_taken_total";
inline constexpr std::string_view ownership_lost_total = "ownership_lost_total";
inline constexpr std::string_view ownership_lease_expired_total = "ownership_lease_expired_total";

inline constexpr std::string_view tracing_spans_total = "tracing_spans_total";
inline constexpr std::string_view rest_requests_total = "rest_requests_total";
inline constexpr std::string_view rest_request_seconds = "rest_request_seconds";
inline constexpr std::string_view rest_connections = "rest_connections";

inline constexpr std::string_view errors_total = "errors_total";

}  // namespace sagabox::metric
