#include "bench/baselines/postgres/requests.hpp"
#include "bench/baselines/postgres/write.hpp"
#include "bench/duel.hpp"
#include "bench/postgres/bench.hpp"
#include "bench/postgres/world.hpp"

#include <sagabox/idempotency.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sagabox::bench::postgres {
namespace {

constexpr int callers_count = 8;
constexpr std::int64_t rows_of_10m = 50;  // times `Size::rows`

std::int64_t next_number() {
  static std::atomic<std::int64_t> last{0};
  return ++last;
}

/// Every client at once, each so often; calls a second.
double calls_rate(std::int64_t each, const std::function<void(int client)>& run) {
  std::vector<std::exception_ptr> failures(callers_count);
  const auto begin = Steady::now();
  std::vector<std::thread> threads;
  for (int client = 0; client < callers_count; ++client) {
    threads.emplace_back([&, client] {
      try {
        for (std::int64_t i = 0; i < each; ++i) run(client);
      } catch (...) {
        failures[static_cast<std::size_t>(client)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto took = seconds_since(begin);
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return static_cast<double>(each * callers_count) / took;
}

std::int64_t each_client(const Size& size) {
  return std::max<std::int64_t>(50, size.rows / 20 / callers_count);
}

void require(const std::string& what, std::int64_t wanted) {
  const auto seen = world().sql("SELECT count(*) FROM " + what);
  if (seen != std::to_string(wanted)) {
    throw std::runtime_error(fmt::format("there are {} rows of {}, not {}", seen, what, wanted));
  }
}

/// Requests that are let through and done, by a guard.
class Guarded {
 public:
  Guarded() : store_(world().open()) {
    store_->idempotency()->prepare().value();
    guard_ = Guard::create(*store_, {.consumer = "bench"}).value();
  }
  double rate(const Size& size) {
    const auto before = finished();
    const auto rate = calls_rate(each_client(size), [&](int) {
      const auto key = fmt::format("ours-{}", next_number());
      (void)guard_
          ->run("default", key, sha256(key),
                [](const std::stop_token&) { return Result<GuardedResult>({.bytes = "done"}); })
          .value();
    });
    if (finished() - before != each_client(size) * callers_count) {
      throw std::runtime_error("requests were lost");
    }
    return rate;
  }

 private:
  static std::int64_t finished() {
    return std::stoll(
        world().sql("SELECT count(*) FROM sagabox.idempotency WHERE key LIKE 'ours-%' AND state = "
                    "'succeeded'"));
  }
  std::unique_ptr<Store> store_;
  std::unique_ptr<Guard> guard_;
};

double requests_by_hand_rate(const Size& size) {
  std::vector<std::unique_ptr<by_hand::RequestClient>> clients;
  for (int number = 0; number < callers_count; ++number) {
    clients.push_back(std::make_unique<by_hand::RequestClient>(world().url()));
  }
  return calls_rate(each_client(size), [&](int client) {
    const auto number = next_number();
    clients[static_cast<std::size_t>(client)]->run(fmt::format("hand-{}", number), number);
  });
}

void empty() {
  world().sql("TRUNCATE sagabox.idempotency");
  world().rest();
}

}  // namespace

void idempotency(const Size& size, Report& report) {
  Guarded ours;
  (void)ours.rate(size);  // connections are there, statements prepared
  const auto result = duel(
      size.repeats,
      [&] {
        empty();
        return ours.rate(size);
      },
      [&] {
        empty();
        return requests_by_hand_rate(size);
      });
  require("sagabox.idempotency", each_client(size) * callers_count);
  report.add({.name = "idempotency.postgres",
              .value = result.ours,
              .unit = "requests/s",
              .baseline = result.baseline,
              .baseline_name = "hand-written INSERT … ON CONFLICT and UPDATE, 8 clients",
              .goal = Goal{Goal::Kind::ratio_at_least, 0.90}});
}

void idempotency_stored(const Size& size, Report& report) {
  Guarded ours;
  (void)ours.rate(size);
  std::vector<double> empty_rates;
  std::vector<double> stored_rates;
  for (std::uint32_t round = 0; round < size.repeats; ++round) {
    empty();
    empty_rates.push_back(ours.rate(size));
  }
  empty();
  const auto rows = rows_of_10m * size.rows;
  report.note(fmt::format("  storing {} keys", rows));
  world().sql(fmt::format(R"sql(
INSERT INTO sagabox.idempotency (
  tenant, consumer, key, request_hash, state, ticket, created_at, changed_at, lease_until,
  expires_at, result, result_digest)
SELECT 'default', 'bench', 'stored-' || n, sha256(int8send(n)), 'succeeded', n, now(), now(), now(),
       now() + interval '1 day', '\x646f6e65', sha256('\x646f6e65')
FROM generate_series(1, {}) n)sql",
                          rows));
  world().sql("VACUUM (ANALYZE) sagabox.idempotency");  // else autovacuum, while it is measured
  world().rest();
  for (std::uint32_t round = 0; round < size.repeats; ++round) {
    stored_rates.push_back(ours.rate(size));
  }
  empty();
  report.add({.name = "idempotency.postgres.stored_10m",
              .value = median(stored_rates),
              .unit = "requests/s",
              .baseline = median(empty_rates),
              .baseline_name = "the same with an empty table",
              .goal = Goal{Goal::Kind::ratio_at_least, 0.90}});
}

void inbox(const Size& size, Report& report) {
  const auto store = world().open();
  store->inbox()->prepare().value();
  world().sql(
      "DROP TABLE IF EXISTS bench_orders; CREATE TABLE bench_orders (id int8 PRIMARY KEY, "
      "what text)");
  std::vector<std::unique_ptr<by_hand::OrderClient>> clients;
  for (int number = 1; number <= callers_count; ++number) {
    clients.push_back(std::make_unique<by_hand::OrderClient>(world().url(), number));
  }
  const auto transaction = [&](int client, const auto& take) {
    auto& order = *clients[static_cast<std::size_t>(client)];
    order.begin_with_order();
    take(order);
    order.commit();
  };
  const auto ours = [&](int client) {
    transaction(client, [](by_hand::OrderClient& order) {
      auto tx = sagabox::postgres::enlist(order.handle()).value();
      const auto key = fmt::format("ours-{}", next_number());
      if (!tx.inbox().first_time("default", "bench", key).value()) {
        throw std::runtime_error("a key came twice");
      }
    });
  };
  const auto by_hand = [&](int client) {
    transaction(client, [](by_hand::OrderClient& order) {
      order.take_key(fmt::format("hand-{}", next_number()));
    });
  };
  const auto each = each_client(size);
  for (int client = 0; client < callers_count; ++client) {
    ours(client);
    by_hand(client);
  }
  const auto result = duel(
      size.repeats, [&] { return calls_rate(each, ours); },
      [&] { return calls_rate(each, by_hand); });
  const auto all = 2 * callers_count * (1 + each * static_cast<std::int64_t>(size.repeats));
  require("sagabox.inbox", all);
  require("bench_orders", all);
  report.add({.name = "idempotency.inbox.postgres",
              .value = result.ours,
              .unit = "transactions/s",
              .baseline = result.baseline,
              .baseline_name = "hand-written INSERT … ON CONFLICT, 8 clients",
              .goal = Goal{Goal::Kind::ratio_at_least, 0.90}});
}

}  // namespace sagabox::bench::postgres
