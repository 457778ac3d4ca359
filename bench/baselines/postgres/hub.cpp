#include "bench/baselines/postgres/hub.hpp"

#include "bench/baselines/postgres/link.hpp"
#include "bench/baselines/side_by_side.hpp"

#include <sagabox/hub_record.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>

namespace sagabox::bench::by_hand {
namespace {

constexpr auto read_events_sql = R"sql(
SELECT seq, id, tenant, type, key, correlation_id, payload
FROM sagabox.hub_event
WHERE shard = ($1::int8)::int2 AND seq > $2
ORDER BY seq
LIMIT $3
)sql";

constexpr auto add_deliveries_sql = R"sql(
INSERT INTO sagabox.hub_delivery (
  id, event, subscription, generation, tenant, type, key, shard, correlation_id, next_attempt_at,
  created_at)
SELECT d.id, d.event, d.subscription, 0, d.tenant, d.type, '', d.shard, d.correlation_id, now(),
       now()
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int8[])
  AS d(id, event, subscription, tenant, type, correlation_id, shard)
ON CONFLICT DO NOTHING
)sql";

constexpr auto move_position_sql = R"sql(
INSERT INTO sagabox.hub_position (shard, position) VALUES (($1::int8)::int2, $2)
ON CONFLICT (shard) DO UPDATE SET position = excluded.position
)sql";

constexpr auto begin_deliveries_sql = R"sql(
UPDATE sagabox.hub_delivery
SET state = 'in_progress', attempt = 1
WHERE id = ANY ($1::text[]) AND attempt = 0
  AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
)sql";

constexpr auto make_jobs_sql = R"sql(
INSERT INTO sagabox.hub_job (delivery, attempt, subscription, shard, attempt_at)
SELECT j.delivery, 1, j.subscription, j.shard, now()
FROM unnest($1::text[], $2::text[], $3::int8[]) AS j(delivery, subscription, shard)
WHERE (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
ON CONFLICT (delivery, attempt) DO NOTHING
)sql";

constexpr auto lease_jobs_sql = R"sql(
UPDATE sagabox.hub_job
SET state = 'leased', token = $2, worker = 'hub', lease_until = now() + interval '30 s'
WHERE delivery = ANY ($1::text[]) AND attempt = 1
  AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
)sql";

constexpr auto finish_jobs_sql = R"sql(
UPDATE sagabox.hub_job AS j
SET state = 'completed', code = '', error = '', status = f.status, answer = '', retry_after = NULL,
    took = f.took, lease_until = NULL, ended_at = now()
FROM unnest($1::text[], $2::int8[], $3::int8[]) AS f(delivery, status, took)
WHERE j.delivery = f.delivery AND j.attempt = 1 AND j.token = $4
)sql";

constexpr auto complete_deliveries_sql = R"sql(
UPDATE sagabox.hub_delivery
SET state = 'completed', failures = 0, code = '', error = '', status = 204, ended_at = now()
WHERE id = ANY ($1::text[]) AND attempt = 1
)sql";

constexpr auto mark_seen_sql = R"sql(
UPDATE sagabox.hub_job SET seen = true WHERE delivery = ANY ($1::text[]) AND attempt = 1
)sql";

/// As long as those of the hub.
constexpr auto hub_token = "01JBENCHBENCHBENCHBENCHBEN";

struct DeliveryColumns {
  std::vector<std::string> ids;
  std::vector<std::string> events;
  std::vector<std::string> subscriptions;
  std::vector<std::string> tenants;
  std::vector<std::string> types;
  std::vector<std::string> correlation_ids;
  std::vector<std::int64_t> shards;
};

class HubLoop {
 public:
  explicit HubLoop(const HubLoopLoad& load)
      : link_(load.url),
        events_max_(std::max<std::int64_t>(
            1, load.batch / static_cast<std::int64_t>(load.subscriptions.size()))) {
    // Rows are found by their keys, whatever the planner believes of tables that were empty when
    // they were last counted, as the hub does it.
    for (const auto* way : {"seqscan", "bitmapscan", "hashjoin", "mergejoin", "memoize"}) {
      link_.sql(std::string("SET enable_") + way + " = off");
    }
    for (const auto& id : load.subscriptions) {
      subscriptions_.push_back(SubscriptionId::parse(id).value());
    }
    link_.prepare("read", read_events_sql);
    link_.prepare("add", add_deliveries_sql);
    link_.prepare("move", move_position_sql);
    link_.prepare("begin", begin_deliveries_sql);
    link_.prepare("jobs", make_jobs_sql);
    link_.prepare("lease", lease_jobs_sql);
    link_.prepare("finish", finish_jobs_sql);
    link_.prepare("complete", complete_deliveries_sql);
    link_.prepare("seen", mark_seen_sql);
  }

  /// All events of the shard; how many deliveries it has completed.
  std::int64_t run(std::int64_t shard) {
    std::int64_t position = 0;
    std::int64_t done = 0;
    for (;;) {
      const auto read = link_.call("read", Values().int8(shard).int8(position).int8(events_max_));
      const auto events = PQntuples(read.get());
      if (events == 0) return done;
      position = int8_of(read.get(), events - 1, 0);
      done += deliver(deliveries_of(read), shard, position);
    }
  }

 private:
  DeliveryColumns deliveries_of(const Answer& events) {
    DeliveryColumns columns;
    for (int row = 0; row < PQntuples(events.get()); ++row) {
      const auto text = [&](int column) {
        return std::string(PQgetvalue(events.get(), row, column),
                           static_cast<std::size_t>(PQgetlength(events.get(), row, column)));
      };
      const auto event = EventId::parse(text(1)).value();
      for (std::size_t at = 0; at < subscriptions_.size(); ++at) {
        columns.ids.push_back(delivery_id_of(event, subscriptions_[at], 0).str());
        columns.events.push_back(event.str());
        columns.subscriptions.push_back(subscriptions_[at].str());
        columns.tenants.push_back(text(2));
        columns.types.push_back(text(3));
        columns.correlation_ids.push_back(text(5));
        columns.shards.push_back(static_cast<std::int64_t>(at));
      }
    }
    return columns;
  }

  std::int64_t deliver(const DeliveryColumns& of, std::int64_t shard, std::int64_t position) {
    const auto count = of.ids.size();
    const auto each = [&](const char* name, const Values& values) {
      const auto answer = link_.call(name, values);
      if (rows_changed(answer.get()) != static_cast<std::int64_t>(count)) {
        throw std::runtime_error(std::string("deliveries by hand were lost: ") + name);
      }
    };
    each("add", Values()
                    .texts(of.ids)
                    .texts(of.events)
                    .texts(of.subscriptions)
                    .texts(of.tenants)
                    .texts(of.types)
                    .texts(of.correlation_ids)
                    .int8s(of.shards));
    (void)link_.call("move", Values().int8(shard).int8(position));
    each("begin", Values().texts(of.ids));
    each("jobs", Values().texts(of.ids).texts(of.subscriptions).int8s(of.shards));
    each("lease", Values().texts(of.ids).text(hub_token));
    each("finish", Values()
                       .texts(of.ids)
                       .int8s(std::vector<std::int64_t>(count, 204))
                       .int8s(std::vector<std::int64_t>(count, 1000))
                       .text(hub_token));
    each("complete", Values().texts(of.ids));
    each("seen", Values().texts(of.ids));
    return static_cast<std::int64_t>(count);
  }

  Link link_;
  std::int64_t events_max_;
  std::vector<SubscriptionId> subscriptions_;
};

}  // namespace

double hub_loop(const HubLoopLoad& load) {
  std::vector<std::unique_ptr<HubLoop>> loops;
  for (int number = 0; number < load.connections; ++number) {
    loops.push_back(std::make_unique<HubLoop>(load));
  }
  std::atomic<int> next_shard{0};
  std::atomic<std::int64_t> done{0};
  const auto took = seconds_side_by_side(load.connections, [&](int number) {
    auto& loop = *loops[static_cast<std::size_t>(number)];
    for (auto shard = next_shard++; shard < load.shards; shard = next_shard++) {
      done += loop.run(shard);
    }
  });
  const auto wanted = load.events * static_cast<std::int64_t>(load.subscriptions.size());
  if (done != wanted) throw std::runtime_error("deliveries by hand were lost");
  return static_cast<double>(wanted) / took;
}

}  // namespace sagabox::bench::by_hand
