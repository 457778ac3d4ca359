#include "bench/baselines/sqlite/hub.hpp"

#include "bench/baselines/sqlite/link.hpp"
#include "bench/measure.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/time.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace sagabox::bench::by_hand::sqlite {
namespace {

/// What the store has; the default of SQLite is 1000.
constexpr int checkpoint_pages_of_hub = 4096;
/// As long as those of the hub.
constexpr auto hub_token = "01JBENCHBENCHBENCHBENCHBEN";
constexpr std::int64_t hub_lease = 30'000'000;

std::int64_t hub_now() { return system_clock().wall_now().time_since_epoch().count(); }

class HubLoop {
 public:
  HubLoop(const std::string& path, const std::vector<std::string>& subscriptions, int batch)
      : link_(path, checkpoint_pages_of_hub),
        events_max_(
            std::max<std::int64_t>(1, batch / static_cast<std::int64_t>(subscriptions.size()))) {
    for (const auto& id : subscriptions) {
      subscriptions_.push_back(SubscriptionId::parse(id).value());
    }
  }

  /// How many deliveries it has completed; 0: no event is left.
  std::int64_t run() {
    const auto deliveries = read();
    if (deliveries.empty()) return 0;
    for_each(deliveries, [&](const Row& row) {
      add_.text(1, row.id).text(2, row.event).text(3, row.subscription).text(4, row.tenant);
      add_.text(5, row.type).text(6, row.correlation_id).integer(7, hub_now()).run();
    });
    move_.integer(1, position_).run();
    for_each(deliveries, [&](const Row& row) { begin_delivery_.text(1, row.id).run(); });
    for_each(deliveries, [&](const Row& row) {
      make_.text(1, row.id).text(2, row.subscription).integer(3, hub_now()).run();
    });
    for_each(deliveries, [&](const Row& row) {
      lease_.text(1, row.id).text(2, hub_token).integer(3, hub_now() + hub_lease).run();
    });
    for_each(deliveries, [&](const Row& row) {
      finish_.text(1, row.id).text(2, hub_token).integer(3, hub_now()).run();
    });
    for_each(deliveries,
             [&](const Row& row) { complete_.text(1, row.id).integer(2, hub_now()).run(); });
    for_each(deliveries, [&](const Row& row) { seen_.text(1, row.id).run(); });
    return static_cast<std::int64_t>(deliveries.size());
  }

 private:
  struct Row {
    std::string id;
    std::string event;
    std::string subscription;
    std::string tenant;
    std::string type;
    std::string correlation_id;
  };

  std::vector<Row> read() {
    std::vector<Row> rows;
    read_.integer(1, position_).integer(2, events_max_);
    while (read_.step()) {
      const auto text = [&](int column) {
        return std::string(reinterpret_cast<const char*>(sqlite3_column_text(read_.get(), column)));
      };
      position_ = sqlite3_column_int64(read_.get(), 0);
      (void)sqlite3_column_blob(read_.get(), 5);  // for the request
      const auto event = EventId::parse(text(1)).value();
      for (const auto& subscription : subscriptions_) {
        rows.push_back({.id = delivery_id_of(event, subscription, 0).str(),
                        .event = event.str(),
                        .subscription = subscription.str(),
                        .tenant = text(2),
                        .type = text(3),
                        .correlation_id = text(4)});
      }
    }
    read_.reset();
    return rows;
  }

  /// In a transaction; throws unless each changes a row.
  void for_each(const std::vector<Row>& rows, const std::function<void(const Row&)>& write) {
    begin_.run();
    for (const auto& row : rows) {
      write(row);
      if (link_.changes() != 1) throw std::runtime_error("deliveries by hand were lost");
    }
    commit_.run();
  }

  Link link_;
  const std::int64_t events_max_;
  std::vector<SubscriptionId> subscriptions_;
  std::int64_t position_ = 0;
  Statement begin_ = link_.prepare("BEGIN IMMEDIATE");
  Statement commit_ = link_.prepare("COMMIT");
  Statement read_ = link_.prepare(R"sql(
SELECT seq, id, tenant, type, correlation_id, payload
FROM sagabox_hub_event
WHERE seq > ?1
ORDER BY seq
LIMIT ?2
)sql");
  Statement add_ = link_.prepare(R"sql(
INSERT INTO sagabox_hub_delivery (
  id, event, subscription, generation, tenant, type, key, correlation_id, next_attempt_at,
  created_at)
VALUES (?1, ?2, ?3, 0, ?4, ?5, '', ?6, ?7, ?7)
ON CONFLICT DO NOTHING
)sql");
  Statement move_ = link_.prepare(R"sql(
INSERT INTO sagabox_hub_position (shard, position) VALUES (0, ?1)
ON CONFLICT (shard) DO UPDATE SET position = excluded.position
)sql");
  Statement begin_delivery_ = link_.prepare(R"sql(
UPDATE sagabox_hub_delivery SET state = 'in_progress', attempt = 1 WHERE id = ?1 AND attempt = 0
)sql");
  Statement make_ = link_.prepare(R"sql(
INSERT INTO sagabox_hub_job (delivery, attempt, subscription, attempt_at) VALUES (?1, 1, ?2, ?3)
ON CONFLICT (delivery, attempt) DO NOTHING
)sql");
  Statement lease_ = link_.prepare(R"sql(
UPDATE sagabox_hub_job SET state = 'leased', token = ?2, worker = 'hub', lease_until = ?3
WHERE delivery = ?1 AND attempt = 1
)sql");
  Statement finish_ = link_.prepare(R"sql(
UPDATE sagabox_hub_job
SET state = 'completed', code = '', error = '', status = 204, answer = x'', retry_after = NULL,
    took = 1000, lease_until = NULL, ended_at = ?3
WHERE delivery = ?1 AND attempt = 1 AND token = ?2
)sql");
  Statement complete_ = link_.prepare(R"sql(
UPDATE sagabox_hub_delivery
SET state = 'completed', failures = 0, code = '', error = '', status = 204, ended_at = ?2
WHERE id = ?1 AND attempt = 1
)sql");
  Statement seen_ = link_.prepare(R"sql(
UPDATE sagabox_hub_job SET seen = 1 WHERE delivery = ?1 AND attempt = 1
)sql");
};

}  // namespace

double hub_loop(const std::string& path, const std::vector<std::string>& subscriptions,
                std::int64_t count, int batch) {
  HubLoop loop(path, subscriptions, batch);
  std::int64_t done = 0;
  const auto begin = Steady::now();
  while (const auto some = loop.run()) done += some;
  const auto took = seconds_since(begin);
  if (done != count) throw std::runtime_error("deliveries by hand were lost");
  return static_cast<double>(count) / took;
}

}  // namespace sagabox::bench::by_hand::sqlite
