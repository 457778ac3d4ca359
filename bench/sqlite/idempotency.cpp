#include "bench/baselines/sqlite/link.hpp"
#include "bench/duel.hpp"
#include "bench/sqlite/bench.hpp"
#include "bench/sqlite/world.hpp"

#include <sagabox/idempotency.hpp>
#include <sagabox/time.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace sagabox::bench::sqlite {
namespace {

/// What the store has; the default of SQLite is 1000.
constexpr int checkpoint_pages_of_store = 4096;

std::int64_t requests_count(const Size& size) { return std::max<std::int64_t>(8, size.rows / 50); }

void require_all(const Size& size) {
  by_hand::sqlite::Link link(world().path());
  const auto seen = link.sql("SELECT count(*) FROM sagabox_idempotency WHERE state = 'succeeded'");
  if (seen != std::to_string(requests_count(size))) throw std::runtime_error("requests were lost");
}

double guarded_rate(const Size& size) {
  world().clear();
  double rate = 0;
  {
    const auto store = world().open();
    store->idempotency()->prepare().value();
    const auto guard = Guard::create(*store, {.consumer = "bench"}).value();
    const auto begin = Steady::now();
    for (std::int64_t number = 0; number < requests_count(size); ++number) {
      const auto key = fmt::format("key-{}", number);
      (void)guard
          ->run("default", key, sha256(key),
                [](const std::stop_token&) { return Result<GuardedResult>({.bytes = "done"}); })
          .value();
    }
    rate = static_cast<double>(requests_count(size)) / seconds_since(begin);
  }
  require_all(size);
  return rate;
}

double requests_by_hand_rate(const Size& size) {
  world().clear();
  world().open()->idempotency()->prepare().value();
  double rate = 0;
  {
    by_hand::sqlite::Link link(world().path(), checkpoint_pages_of_store);
    auto check = link.prepare(R"sql(
INSERT INTO sagabox_idempotency (
  tenant, consumer, key, request_hash, ticket, created_at, changed_at, lease_until, expires_at)
VALUES ('default', 'bench', ?1, ?2, ?3, ?4, ?4, ?4 + 15000000, ?4 + 86400000000)
ON CONFLICT DO NOTHING
)sql");
    auto finish = link.prepare(R"sql(
UPDATE sagabox_idempotency
SET state = 'succeeded', changed_at = ?3, result = ?4, result_digest = ?5
WHERE tenant = 'default' AND consumer = 'bench' AND key = ?1 AND ticket = ?2
)sql");
    const auto text_of = [](const Digest& digest) {
      return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
    };
    const auto begin = Steady::now();
    for (std::int64_t number = 0; number < requests_count(size); ++number) {
      const auto key = fmt::format("key-{}", number);
      const auto hash = text_of(sha256(key));
      const auto digest = text_of(sha256("done"));
      const auto now = [] { return system_clock().wall_now().time_since_epoch().count(); };
      check.text(1, key).blob(2, hash).integer(3, number).integer(4, now()).run();
      finish.text(1, key)
          .integer(2, number)
          .integer(3, now())
          .blob(4, "done")
          .blob(5, digest)
          .run();
    }
    rate = static_cast<double>(requests_count(size)) / seconds_since(begin);
  }
  require_all(size);
  return rate;
}

}  // namespace

void idempotency(const Size& size, Report& report) {
  const auto result = duel(
      size.repeats, [&] { return guarded_rate(size); },
      [&] { return requests_by_hand_rate(size); });
  report.add({.name = "idempotency.sqlite",
              .value = result.ours,
              .unit = "requests/s",
              .baseline = result.baseline,
              .baseline_name = "hand-written INSERT … ON CONFLICT and UPDATE",
              .goal = Goal{Goal::Kind::ratio_at_least, 0.90}});
}

}  // namespace sagabox::bench::sqlite
