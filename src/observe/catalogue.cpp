#include "observe/catalogue.hpp"

#include "observe/hub_metric_names.hpp"
#include "observe/metric_names.hpp"
#include "observe/saga_metric_names.hpp"

#include <algorithm>
#include <array>

namespace sagabox {
namespace {

using enum MetricInfo::Kind;

constexpr std::array catalogue{
    MetricInfo{metric::outbox_enqueued_total, counter, "table topic", "Messages written"},
    MetricInfo{metric::outbox_duplicates_total, counter, "table",
               "Writes of an id that was there already"},
    MetricInfo{metric::outbox_suppressed_total, counter, "table",
               "Messages that a hook kept from being written"},
    MetricInfo{metric::outbox_dispatched_total, counter, "table topic result",
               "Attempts by result: done, retry, dead or parked"},
    MetricInfo{metric::outbox_retries_total, counter, "table topic",
               "Attempts after the first one"},
    MetricInfo{metric::outbox_done_after_retry_total, counter, "table topic",
               "Messages delivered by an attempt after the first one"},
    MetricInfo{metric::outbox_dead_total, counter, "table topic code",
               "Messages that became dead letters for the first time, by error code"},
    MetricInfo{metric::outbox_dispatch_seconds, histogram, "table topic result",
               "Time that attempts took by result: done or failed"},
    MetricInfo{metric::outbox_latency_seconds, histogram, "table",
               "Time from the write to the end of the first delivery"},
    MetricInfo{metric::outbox_timeouts_total, counter, "table topic",
               "Handlers that passed their deadline"},
    MetricInfo{metric::outbox_hot_enqueued_total, counter, "table",
               "Messages handed to the hot queue after their commit"},
    MetricInfo{metric::outbox_hot_dropped_total, counter, "table",
               "Messages left to the reader because the hot queue was full"},
    MetricInfo{metric::outbox_cold_enqueued_total, counter, "table",
               "Messages read from the store and queued"},
    MetricInfo{metric::outbox_queue_depth, gauge, "table queue",
               "Messages in the hot or cold queue of this process"},
    MetricInfo{metric::outbox_queue_bytes, gauge, "table",
               "Bytes held in both queues of this process"},
    MetricInfo{metric::outbox_in_flight, gauge, "table",
               "Messages dispatched and not yet settled by this process"},
    MetricInfo{metric::outbox_spare_workers, gauge, "table",
               "Threads that stand in for handlers past their deadline"},
    MetricInfo{metric::outbox_blocked_keys, gauge, "table",
               "Keys that wait for their failing head"},
    MetricInfo{metric::outbox_pending, gauge, "table", "Messages not yet delivered in the store"},
    MetricInfo{metric::outbox_dead, gauge, "table", "Dead letters in the store"},
    MetricInfo{metric::outbox_oldest_seconds, gauge, "table",
               "Age of the oldest message not yet delivered; 0 when there is none"},
    MetricInfo{metric::outbox_oldest_transaction_seconds, gauge, "table",
               "Age of the oldest open transaction of the database; 0 when there is none"},
    MetricInfo{metric::outbox_slot_transactions, gauge, "table",
               "Transactions since the oldest that a replication slot holds on to"},
    MetricInfo{metric::outbox_settle_batches_total, counter, "table result",
               "Settle transactions by result"},
    MetricInfo{metric::outbox_settle_rows, histogram, "table", "Rows of a settle transaction"},
    MetricInfo{metric::outbox_settle_missed_rows_total, counter, "table",
               "Rows that a settle did not find where it expected them"},
    MetricInfo{metric::outbox_refused, gauge, "table",
               "Messages whose result the store refuses, and their quarantine too; held back by "
               "this process"},
    MetricInfo{metric::outbox_refused_parked_total, counter, "table",
               "Messages quarantined because the store refused their result"},
    MetricInfo{metric::outbox_unrouted_topics, gauge, "table",
               "Topics that this process knows no listener and no route for, and whose messages "
               "wait"},
    MetricInfo{metric::outbox_read_rows_total, counter, "table kind",
               "Rows read from the store by kind of read"},
    MetricInfo{metric::outbox_late_rows_total, counter, "table",
               "Rows found behind the read position because they committed late"},
    MetricInfo{metric::outbox_safety_rows_total, counter, "table",
               "Rows found only by the safety pass; anything above 0 is worth a look"},
    MetricInfo{metric::outbox_purged_total, counter, "table state",
               "Messages deleted because of their age, by the state they were in"},
    MetricInfo{metric::outbox_strays, gauge, "table",
               "Pending rows that no reader would find; anything above 0 is a fault"},
    MetricInfo{metric::outbox_replayed_total, counter, "table", "Messages replayed by jobs"},
    MetricInfo{metric::idempotency_hits_total, counter, "consumer",
               "Requests answered with the result of the first time"},
    MetricInfo{metric::idempotency_conflicts_total, counter, "consumer reason",
               "Requests refused because the same key was busy, last_failed or a mismatch"},
    MetricInfo{metric::idempotency_runs_total, counter, "consumer result",
               "Requests that were worked on by result: succeeded, failed, released or lost"},
    MetricInfo{metric::idempotency_purged_total, counter, "kind",
               "Keys of inboxes, notes of barriers and records of requests removed after their "
               "time: inbox, barrier, request"},
    MetricInfo{metric::saga_started_total, counter, "definition", "Sagas started"},
    MetricInfo{metric::saga_completed_total, counter, "definition", "Sagas that completed"},
    MetricInfo{metric::saga_compensated_total, counter, "definition",
               "Sagas that were compensated: what was done is undone"},
    MetricInfo{metric::saga_failed_total, counter, "definition",
               "Sagas that died: neither forward nor back without an operator"},
    MetricInfo{metric::saga_seconds, histogram, "definition result",
               "Time from the start of a saga to its end: completed, compensated or failed"},
    MetricInfo{metric::saga_step_seconds, histogram, "definition step",
               "Time from the start of a step to the end of its action"},
    MetricInfo{metric::saga_compensations_total, counter, "definition result",
               "Compensations of steps that ended, by result: ok or failed"},
    MetricInfo{metric::saga_compensation_seconds, histogram, "definition",
               "Time from the start of a compensation to its success"},
    MetricInfo{metric::saga_held_total, counter, "definition step",
               "Steps that came to wait for a person's decision"},
    MetricInfo{metric::saga_active, gauge, "definition state",
               "Sagas in the store that have not ended, by state; a million at most"},
    MetricInfo{metric::saga_dead, gauge, "definition",
               "Dead sagas in the store, without quarantined ones"},
    MetricInfo{metric::saga_waiting_person, gauge, "definition kind",
               "Sagas in the store that go on only when a person decides or approves"},
    MetricInfo{metric::saga_oldest_seconds, gauge, "definition",
               "Age of the oldest saga that has not ended; 0 when there is none"},
    MetricInfo{metric::saga_overdue_seconds, gauge, "definition",
               "How long ago a saga should have gone on; 0 when none should have"},
    MetricInfo{metric::saga_stray, gauge, "definition",
               "Sagas in the store that have not ended and that nothing would move, at the last "
               "look"},
    MetricInfo{metric::saga_in_memory, gauge, "definition",
               "Sagas that this process has in memory"},
    MetricInfo{metric::saga_calls, gauge, "definition", "Calls of participants that run"},
    MetricInfo{metric::saga_findings, gauge, "definition",
               "Sagas of this process that do not go on and need an operator"},
    MetricInfo{metric::saga_batches_total, counter, "definition result",
               "Transactions that wrote sagas, by result: ok or failed"},
    MetricInfo{metric::saga_batch_sagas, histogram, "definition",
               "Sagas written by one transaction"},
    MetricInfo{metric::hub_routed_total, counter, "", "Events that have their deliveries"},
    MetricInfo{metric::hub_unfit_total, counter, "",
               "Events that do not fit the catalogue of event types and are delivered as they are"},
    MetricInfo{metric::hub_deliveries_total, counter, "", "Deliveries that the router made"},
    MetricInfo{metric::hub_refused_total, counter, "",
               "Deliveries that the store refused, which were not made; the audit log has them"},
    MetricInfo{metric::hub_attempts_total, counter, "result",
               "Attempts of deliveries by result: completed or failed"},
    MetricInfo{metric::hub_attempt_seconds, histogram, "result",
               "Time from sending an event to the end of the attempt"},
    MetricInfo{metric::hub_lost_leases_total, counter, "result",
               "Jobs whose worker was lost, by what became of them: pending or failed"},
    MetricInfo{metric::hub_ended_total, counter, "result",
               "Attempts whose result is in their delivery: completed, retry or dead"},
    MetricInfo{metric::hub_dead_total, counter, "code",
               "Deliveries that died, by their last error"},
    MetricInfo{metric::hub_delivery_seconds, histogram, "",
               "Time from the making of a delivery to its completion"},
    MetricInfo{metric::hub_disabled_total, counter, "",
               "Subscriptions disabled because their endpoint is gone or has failed for too long"},
    MetricInfo{metric::hub_ready, gauge, "",
               "Deliveries that this process has read and that wait for their turn"},
    MetricInfo{metric::hub_in_progress, gauge, "", "Attempts under way of this process's shards"},
    MetricInfo{metric::hub_endpoints_down, gauge, "",
               "Endpoints of this process's shards that are probed only: their deliveries wait"},
    MetricInfo{metric::hub_findings, gauge, "",
               "Deliveries of this process that do not go on and need an operator"},
    MetricInfo{metric::hub_open, gauge, "state",
               "Deliveries in the store that have not completed, by state"},
    MetricInfo{metric::hub_oldest_seconds, gauge, "",
               "Age of the oldest delivery that has not ended; 0 when there is none"},
    MetricInfo{metric::hub_unrouted, gauge, "", "Events in the store that are not routed yet"},
    MetricInfo{metric::hub_unrouted_seconds, gauge, "",
               "Age of the oldest event that is not routed yet; 0 when there is none"},
    MetricInfo{metric::hub_figures_known, gauge, "of",
               "1 while the figures of the hub's store could be read, 0 while they could not"},
    MetricInfo{metric::transport_sends_total, counter, "transport result",
               "Sends to targets by result: delivered, rejected, failed, unreachable, timed_out, "
               "busy, later"},
    MetricInfo{metric::transport_send_seconds, histogram, "transport",
               "Time from handing a message to a transport to its result"},
    MetricInfo{metric::transport_destination_down, gauge, "target",
               "1 while a destination cannot be reached and its messages wait"},
    MetricInfo{metric::relay_leader, gauge, "table",
               "Mode leader: 1 while this process delivers the table, 0 while it stands by"},
    MetricInfo{metric::replay_total, counter, "kind",
               "What was replayed, by its kind: outbox (messages), saga or delivery"},
    MetricInfo{metric::ownership_shards, gauge, "scope", "Shards that this process owns"},
    MetricInfo{metric::ownership_taken_total, counter, "scope unclean",
               "Shards taken, and whether their owner before had not released them"},
    MetricInfo{metric::ownership_lost_total, counter, "scope",
               "Shards lost without having been released"},
    MetricInfo{metric::ownership_lease_expired_total, counter, "",
               "Times this process let its lease run out"},
    MetricInfo{
        metric::tracing_spans_total, counter, "result",
        "Spans by what became of them: exported, failed (not taken by the collector), dropped "
        "(the queue was full, or the process stopped)"},
    MetricInfo{metric::rest_requests_total, counter, "operation status",
               "Requests of the REST API by operation and class of the answer: 2xx, 4xx, 5xx"},
    MetricInfo{metric::rest_request_seconds, histogram, "operation",
               "Time from the header of a request to its answer"},
    MetricInfo{metric::rest_connections, gauge, "", "Connections of the REST API that are open"},
    MetricInfo{metric::errors_total, counter, "code retryable severity", "Errors by code"},
};

// 50 µs, a hot hand-over, to 60 s, twice the dispatch timeout.
constexpr std::array seconds_buckets{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                     0.01,    0.025,  0.05,    0.1,    0.25,  0.5,    1.0,
                                     2.5,     5.0,    10.0,    30.0,   60.0};
constexpr std::array rows_buckets{1.0,   2.0,   5.0,   10.0,   20.0,  50.0,
                                  100.0, 200.0, 500.0, 1000.0, 2000.0};

std::string_view kind_name(MetricInfo::Kind kind) {
  switch (kind) {
    case counter:
      return "counter";
    case gauge:
      return "gauge";
    case histogram:
      return "histogram";
  }
  return "metric";
}

}  // namespace

std::span<const MetricInfo> metric_catalogue() { return catalogue; }

std::span<const double> histogram_buckets(std::string_view name) {
  return name.ends_with("_seconds") ? std::span<const double>(seconds_buckets)
                                    : std::span<const double>(rows_buckets);
}

const MetricInfo* find_metric(std::string_view name) {
  const auto* found = std::find_if(catalogue.begin(), catalogue.end(),
                                   [&](const MetricInfo& m) { return m.name == name; });
  return found == catalogue.end() ? nullptr : found;
}

bool values_in_order(const MetricInfo& metric, std::span<const Label> labels,
                     std::vector<std::string_view>& values) {
  values.clear();
  std::string_view names = metric.labels;
  while (!names.empty()) {
    const std::size_t space = names.find(' ');
    const std::string_view name = names.substr(0, space);
    const auto found =
        std::find_if(labels.begin(), labels.end(), [&](const Label& l) { return l.first == name; });
    if (found == labels.end()) return false;
    values.push_back(found->second);
    names = space == std::string_view::npos ? std::string_view() : names.substr(space + 1);
  }
  return values.size() == labels.size();
}

std::string metric_problem(std::string_view name, MetricInfo::Kind kind,
                           std::span<const Label> labels) {
  const auto prefix = "metric " + std::string(name) + ": ";
  const MetricInfo* metric = find_metric(name);
  if (metric == nullptr) return prefix + "not in the catalogue (src/observe/catalogue.cpp)";
  if (metric->kind != kind) {
    return prefix + "used as a " + std::string(kind_name(kind)) + " but it is a " +
           std::string(kind_name(metric->kind));
  }
  std::vector<std::string_view> values;
  if (values_in_order(*metric, labels, values)) return {};
  std::string given;
  for (const auto& label : labels) given.append(given.empty() ? "" : " ").append(label.first);
  return prefix + "has the labels {" + std::string(metric->labels) + "}, not {" + given + "}";
}

}  // namespace sagabox
