#include "bench/baselines/postgres/drain.hpp"

#include "bench/baselines/postgres/link.hpp"
#include "bench/measure.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sagabox::bench::by_hand {
namespace {

constexpr std::int16_t shards = 16;

const std::string columns(message_columns);

const std::string read_sql =
    "SELECT m.* FROM unnest($1::int2[], $2::int8[]) AS r(shard, after) "
    "CROSS JOIN LATERAL (SELECT " +
    columns + R"sql(
  FROM sagabox.default_outbox AS o
  WHERE o.due IS NULL AND o.shard = r.shard AND (o.lane, o.seq) > (1, r.after) AND o.lane <= 1
  ORDER BY o.lane, o.seq LIMIT $3) AS m)sql";

const std::string held_sql = R"sql(WITH held AS MATERIALIZED (
  SELECT o.shard FROM sagabox.shard_owner AS o
  JOIN unnest($1::int2[], $2::int8[]) AS f(shard, epoch) ON f.shard = o.shard AND f.epoch = o.epoch
  WHERE o.scope = 'bench' AND o.owner = 'by hand'
  ORDER BY o.shard FOR SHARE OF o)
)sql";

const std::string delete_sql = held_sql + R"sql(
DELETE FROM sagabox.default_outbox AS t
USING (SELECT unnest($3::int8[]) AS seq, unnest($4::int2[]) AS shard) AS i
  JOIN held ON held.shard = i.shard
WHERE t.seq = i.seq AND t.shard = i.shard)sql";

const std::string carried =
    "seq, id, shard, attempts, replays, written_at, tenant, topic, aggregate_type, aggregate_id, "
    "key, priority, payload, is_json, digest, content_type, headers, occurred_at, not_before, "
    "traceparent, tracestate, request_id, correlation_id";

const std::string archive_sql = held_sql + R"sql(
, gone AS (
  DELETE FROM sagabox.default_outbox AS t
  USING (SELECT unnest($3::int8[]) AS seq, unnest($4::int2[]) AS shard) AS i
  JOIN held ON held.shard = i.shard
  WHERE t.seq = i.seq AND t.shard = i.shard RETURNING t.*)
INSERT INTO sagabox.default_archive (ended_at, )sql" +
                                carried + ") SELECT now(), " + carried + " FROM gone";

const std::string own_sql = R"sql(
INSERT INTO sagabox.scope (name, shards) VALUES ('bench', 16) ON CONFLICT DO NOTHING;
INSERT INTO sagabox.shard_owner (scope, shard, owner, epoch)
SELECT 'bench', shard, 'by hand', 1 FROM generate_series(0, 15) AS shard ON CONFLICT DO NOTHING;
)sql";

/// What the handler would be called with. Its sum keeps the compiler honest.
std::size_t handle(const PGresult* rows) {
  std::size_t bytes = 0;
  for (int row = 0; row < PQntuples(rows); ++row) {
    for (int column = 2; column <= payload_column; ++column) {
      bytes += static_cast<std::size_t>(PQgetlength(rows, row, column));
    }
  }
  return bytes;
}

/// Runs `work(number)` on so many threads, which all begin together.
double together(const Load& load,
                const std::function<std::function<std::int64_t()>(int number)>& prepare) {
  std::barrier begin(load.connections + 1);
  std::atomic<std::int64_t> settled{0};
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(load.connections));
  std::vector<std::thread> threads;
  for (int number = 0; number < load.connections; ++number) {
    threads.emplace_back([&, number] {
      std::function<std::int64_t()> run;
      try {
        run = prepare(number);
      } catch (...) {
        failures[static_cast<std::size_t>(number)] = std::current_exception();
      }
      begin.arrive_and_wait();
      try {
        if (run) settled += run();
      } catch (...) {
        failures[static_cast<std::size_t>(number)] = std::current_exception();
      }
    });
  }
  begin.arrive_and_wait();
  const auto start = Steady::now();
  for (auto& thread : threads) thread.join();
  const auto took = seconds_since(start);
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  if (settled != load.rows) {
    throw std::runtime_error("the hand-written loop settled " + std::to_string(settled) + " of " +
                             std::to_string(load.rows));
  }
  return static_cast<double>(load.rows) / took;
}

/// The shards of one connection and how far each was read.
class Owner {
 public:
  Owner(const Load& load, int number) : link_(load.url) {
    for (auto shard = static_cast<std::int16_t>(number); shard < shards;
         shard = static_cast<std::int16_t>(shard + load.connections)) {
      mine_.push_back(shard);
      after_.push_back(0);
      epochs_.push_back(1);
    }
    each_ = std::max<std::int64_t>(1, load.batch / static_cast<std::int64_t>(mine_.size()));
    link_.sql("SET plan_cache_mode = force_custom_plan; SET jit = off");
    link_.prepare("read", read_sql);
    link_.prepare("settle", load.retain ? archive_sql : delete_sql);
    link_.begin_pipeline();
  }

  std::int64_t run() {
    std::int64_t settled = 0;
    send_read();
    for (auto rows = link_.receive(); PQntuples(rows.get()) > 0;) {
      bytes_ += handle(rows.get());
      const auto count = PQntuples(rows.get());
      send_settle(rows.get());
      send_read();
      const auto done = rows_changed(link_.receive().get());
      if (done != count) throw std::runtime_error("the fence did not hold");
      settled += done;
      rows = link_.receive();
    }
    return settled;
  }

 private:
  void send_read() { link_.send("read", Values().int2s(mine_).int8s(after_).int8(each_)); }

  void send_settle(const PGresult* rows) {
    std::vector<std::int64_t> sequences;
    std::vector<std::int16_t> of_shard;
    for (int row = 0; row < PQntuples(rows); ++row) {
      sequences.push_back(int8_of(rows, row, 0));
      of_shard.push_back(int2_of(rows, row, 1));
      const auto at = std::find(mine_.begin(), mine_.end(), of_shard.back()) - mine_.begin();
      after_[static_cast<std::size_t>(at)] = sequences.back();
    }
    link_.send("settle", Values().int2s(mine_).int8s(epochs_).int8s(sequences).int2s(of_shard));
  }

  Link link_;
  std::vector<std::int16_t> mine_;
  std::vector<std::int64_t> after_;
  std::vector<std::int64_t> epochs_;
  std::int64_t each_ = 0;
  std::size_t bytes_ = 0;
};

std::string lease_sql(LeaseIn lease) {
  const bool indexed = lease == LeaseIn::indexed_column;
  const std::string column = indexed ? "due" : "not_before";
  const std::string free =
      indexed ? "due IS NULL" : "due IS NULL AND (not_before IS NULL OR not_before < now())";
  return "UPDATE sagabox.default_outbox AS t SET attempts = attempts + 1, " + column +
         " = now() + interval '30 seconds' FROM (SELECT seq AS head FROM sagabox.default_outbox "
         "WHERE " +
         free +
         " ORDER BY seq LIMIT $1 FOR UPDATE SKIP LOCKED) AS free "
         "WHERE t.seq = free.head RETURNING " +
         columns;
}

const std::string ack_sql =
    "DELETE FROM sagabox.default_outbox WHERE seq = ANY ($1::int8[]) AND attempts = 1";

}  // namespace

double owner_loop(const Load& load) {
  Link(load.url).sql(own_sql);
  return together(load, [&](int number) {
    auto owner = std::make_shared<Owner>(load, number);
    return [owner] { return owner->run(); };
  });
}

double skip_locked_loop(const Load& load, LeaseIn lease) {
  return together(load, [&](int) {
    auto link = std::make_shared<Link>(load.url);
    link->sql("SET plan_cache_mode = force_custom_plan; SET jit = off");
    link->prepare("lease", lease_sql(lease));
    link->prepare("ack", ack_sql);
    link->begin_pipeline();
    return [link, batch = load.batch] {
      std::int64_t settled = 0;
      std::size_t bytes = 0;
      link->send("lease", Values().int8(batch));
      for (auto rows = link->receive(); PQntuples(rows.get()) > 0;) {
        bytes += handle(rows.get());
        std::vector<std::int64_t> sequences;
        for (int row = 0; row < PQntuples(rows.get()); ++row) {
          sequences.push_back(int8_of(rows.get(), row, 0));
        }
        link->send("ack", Values().int8s(sequences));
        link->send("lease", Values().int8(batch));
        settled += rows_changed(link->receive().get());
        rows = link->receive();
      }
      return settled;
    };
  });
}

}  // namespace sagabox::bench::by_hand
