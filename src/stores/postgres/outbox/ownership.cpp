#include "stores/postgres/outbox/ownership.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace sagabox::postgres {
namespace {

// In the order of their names, so that two who join do not wait for each other in a ring.
constexpr std::string_view make_scopes_sql = R"sql(
INSERT INTO "{schema}".scope (name, shards)
SELECT name, $2 FROM unnest($1::text[]) AS name ORDER BY name COLLATE "C"
ON CONFLICT DO NOTHING
)sql";

// Locked, and compared by us: whoever changes the count meanwhile is waited for.
constexpr std::string_view counts_sql = R"sql(
SELECT name, shards FROM "{schema}".scope WHERE name = ANY ($1::text[])
ORDER BY name
FOR KEY SHARE
)sql";

// An id that is gone and owns nothing need not be remembered.
constexpr std::string_view forget_departed_sql = R"sql(
DELETE FROM "{schema}".worker
WHERE id IN (SELECT w.id FROM "{schema}".worker w
             WHERE w.lease_until <= clock_timestamp() AND w.id <> $1
               AND NOT EXISTS (SELECT FROM "{schema}".shard_owner o WHERE o.owner = w.id)
             FOR UPDATE SKIP LOCKED)
)sql";

// No row comes back for a lease that has run out.
constexpr std::string_view join_sql = R"sql(
INSERT INTO "{schema}".worker AS w (id, lease_until)
VALUES ($1, clock_timestamp() + $2 * interval '1 microsecond')
ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until
WHERE w.lease_until > clock_timestamp()
RETURNING id
)sql";

constexpr std::string_view add_member_sql = R"sql(
INSERT INTO "{schema}".member (worker, scope)
SELECT w.id, name FROM "{schema}".worker w, unnest($2::text[]) AS name WHERE w.id = $1
ON CONFLICT DO NOTHING
)sql";

constexpr std::string_view make_shards_sql = R"sql(
INSERT INTO "{schema}".shard_owner (scope, shard)
SELECT name, shard
FROM unnest($1::text[]) AS name, generate_series(0, $2::integer - 1) AS shard
ORDER BY name COLLATE "C", shard
ON CONFLICT DO NOTHING
)sql";

constexpr std::string_view renew_sql = R"sql(
UPDATE "{schema}".worker SET lease_until = clock_timestamp() + $2 * interval '1 microsecond'
WHERE id = $1 AND lease_until > clock_timestamp()
)sql";

constexpr std::string_view live_sql = R"sql(
SELECT w.id FROM "{schema}".member m JOIN "{schema}".worker w ON w.id = m.worker
WHERE m.scope = $1 AND w.lease_until > clock_timestamp()
ORDER BY w.id
)sql";

constexpr std::string_view owners_sql = R"sql(
SELECT o.shard, o.owner, o.epoch,
       CASE WHEN w.lease_until > clock_timestamp()
            THEN (extract(epoch FROM w.lease_until - clock_timestamp()) * 1000000)::bigint
            ELSE 0 END
FROM "{schema}".shard_owner o LEFT JOIN "{schema}".worker w ON w.id = o.owner
WHERE o.scope = $1
ORDER BY o.shard
)sql";

// Only candidates: while a row is waited for or skipped, what this statement knows of its owner may
// have become old. `take_sql` judges again, by a snapshot made after the rows were locked.
constexpr std::string_view lock_free_sql = R"sql(
SELECT o.shard FROM "{schema}".shard_owner o LEFT JOIN "{schema}".worker w ON w.id = o.owner
WHERE o.scope = $1 AND (w.id IS NULL OR w.lease_until <= clock_timestamp())
ORDER BY o.shard
LIMIT $2
FOR UPDATE OF o SKIP LOCKED
)sql";

constexpr std::string_view take_sql = R"sql(
WITH free AS MATERIALIZED (
  SELECT o.shard, o.owner FROM "{schema}".shard_owner o
  WHERE o.scope = $1 AND o.shard = ANY ($3::smallint[])
    AND NOT EXISTS (SELECT FROM "{schema}".worker w
                    WHERE w.id = o.owner AND w.lease_until > clock_timestamp())
    AND EXISTS (SELECT FROM "{schema}".member m JOIN "{schema}".worker w ON w.id = m.worker
                WHERE m.scope = $1 AND m.worker = $2 AND w.lease_until > clock_timestamp())
)
UPDATE "{schema}".shard_owner o SET owner = $2, epoch = o.epoch + 1
FROM free WHERE o.scope = $1 AND o.shard = free.shard
RETURNING o.shard, o.epoch, free.owner IS NOT NULL
)sql";

constexpr std::string_view release_sql = R"sql(
UPDATE "{schema}".shard_owner o SET owner = CASE WHEN given.unclean THEN $6 END
FROM unnest($3::smallint[], $4::bigint[], $5::boolean[]) AS given (shard, epoch, unclean)
WHERE o.scope = $1 AND o.owner = $2 AND o.shard = given.shard AND o.epoch = given.epoch
)sql";

constexpr std::string_view withdraw_sql =
    R"sql(DELETE FROM "{schema}".member WHERE worker = $1 AND scope = ANY ($2::text[]))sql";

// Not now: a clock that steps back must not bring it to life again.
constexpr std::string_view leave_sql =
    R"sql(UPDATE "{schema}".worker SET lease_until = '-infinity' WHERE id = $1)sql";

Error other_count(std::string_view scope, std::int16_t has, std::uint16_t asked) {
  return {Code::config_invalid, std::string(scope) + " has " + std::to_string(has) +
                                    " shards, not " + std::to_string(asked) +
                                    " (a reshard changes it); start this process again with "
                                    "Options::shards = " +
                                    std::to_string(has)};
}

WorkerId worker_id(std::string_view text) {
  auto id = WorkerId::parse(text);
  return id.ok() ? *id : WorkerId{};
}

}  // namespace

Ownership::Ownership(Context& context)
    : context_(context),
      make_scopes_{"make_scopes", context.names.fill(make_scopes_sql)},
      counts_{"counts", context.names.fill(counts_sql)},
      forget_departed_{"forget_departed", context.names.fill(forget_departed_sql)},
      join_{"join", context.names.fill(join_sql)},
      add_member_{"add_member", context.names.fill(add_member_sql)},
      make_shards_{"make_shards", context.names.fill(make_shards_sql)},
      renew_{"renew", context.names.fill(renew_sql)},
      live_{"live", context.names.fill(live_sql)},
      owners_{"owners", context.names.fill(owners_sql)},
      lock_free_{"lock_free", context.names.fill(lock_free_sql)},
      take_{"take", context.names.fill(take_sql)},
      release_{"release", context.names.fill(release_sql)},
      withdraw_{"withdraw", context.names.fill(withdraw_sql)},
      leave_{"leave", context.names.fill(leave_sql)} {}

Result<Rows> Ownership::run(const Statement& statement, const Params& params, Effect effect) {
  auto connection = context_.owners.take();
  if (!connection.ok()) return connection.error();
  return (*connection)->run(statement, params, effect);
}

Result<spi::LeaseReply> Ownership::join(const WorkerId& worker, Duration ttl,
                                        std::span<const spi::Scope> scopes, std::uint16_t shards) {
  const auto same = [](const std::string& scope) { return std::string_view(scope); };
  const auto count = static_cast<std::int16_t>(shards);
  Params named;
  named.array(Type::text, scopes, same).int2(count);
  Params names;
  names.array(Type::text, scopes, same);
  Params shards_of;
  shards_of.array(Type::text, scopes, same).int4(shards);
  Params me;
  me.text(worker.view());
  Params lease;
  lease.text(worker.view()).microseconds(ttl);
  Params member;
  member.text(worker.view()).array(Type::text, scopes, same);

  auto connection = context_.owners.take();
  if (!connection.ok()) return connection.error();
  if (auto begun = (*connection)->begin(); !begun.ok()) return begun.error();
  const std::array calls{Call{&make_scopes_, &named},  Call{&counts_, &names},
                         Call{&forget_departed_, &me}, Call{&join_, &lease},
                         Call{&add_member_, &member},  Call{&make_shards_, &shards_of}};
  auto answers = (*connection)->run(calls, Effect::none);
  if (!answers.ok()) return answers.error();
  const Rows& counts = (*answers)[1];
  for (int i = 0; i < counts.size(); ++i) {
    if (counts.int2(i, 1) != count) {
      return other_count(counts.text(i, 0), counts.int2(i, 1), shards);
    }
  }
  if ((*answers)[3].empty()) return spi::LeaseReply{false, (*connection)->timeline()};
  if (auto done = (*connection)->commit(); !done.ok()) return done.error();
  return spi::LeaseReply{true, (*connection)->timeline()};
}

Result<spi::LeaseReply> Ownership::renew(const WorkerId& worker, Duration ttl) {
  Params params;
  params.text(worker.view()).microseconds(ttl);
  auto connection = context_.leases.take();
  if (!connection.ok()) return connection.error();
  auto renewed = (*connection)->run(renew_, params, Effect::commits);
  if (!renewed.ok()) return renewed.error();
  return spi::LeaseReply{renewed->affected() == 1, (*connection)->timeline()};
}

Result<spi::Census> Ownership::census(const spi::Scope& scope) {
  Params params;
  params.text(scope);
  auto connection = context_.owners.take();
  if (!connection.ok()) return connection.error();
  const std::array calls{Call{&live_, &params}, Call{&owners_, &params}};
  auto answers = (*connection)->run(calls, Effect::none);
  if (!answers.ok()) return answers.error();
  spi::Census census;
  census.timeline = (*connection)->timeline();
  const Rows& live = (*answers)[0];
  for (int i = 0; i < live.size(); ++i) census.live.push_back(worker_id(live.text(i, 0)));
  const Rows& owners = (*answers)[1];
  for (int i = 0; i < owners.size(); ++i) {
    census.shards.push_back({.shard = Shard{static_cast<std::uint16_t>(owners.int2(i, 0))},
                             .owner = worker_id(owners.text(i, 1)),
                             .epoch = Epoch{owners.uint8(i, 2)},
                             .lease_left = std::chrono::microseconds(owners.int8(i, 3))});
  }
  return census;
}

Result<std::vector<spi::OwnedShard>> Ownership::take(const spi::Scope& scope,
                                                     const WorkerId& worker,
                                                     std::uint16_t shards_max) {
  Params wanted;
  wanted.text(scope).int8(shards_max);
  auto connection = context_.owners.take();
  if (!connection.ok()) return connection.error();
  if (auto begun = (*connection)->begin(); !begun.ok()) return begun.error();
  auto locked = (*connection)->run(lock_free_, wanted, Effect::none);
  if (!locked.ok()) return locked.error();
  std::vector<std::int16_t> candidates;
  for (int i = 0; i < locked->size(); ++i) candidates.push_back(locked->int2(i, 0));
  std::vector<spi::OwnedShard> taken;
  if (candidates.empty()) return taken;

  Params params;
  params.text(scope).text(worker.view()).array(Type::int2, candidates, std::identity{});
  auto rows = (*connection)->run(take_, params, Effect::none);
  if (!rows.ok()) return rows.error();
  for (int i = 0; i < rows->size(); ++i) {
    taken.push_back({Shard{static_cast<std::uint16_t>(rows->int2(i, 0))}, Epoch{rows->uint8(i, 1)},
                     rows->boolean(i, 2)});
  }
  if (auto done = (*connection)->commit(); !done.ok()) return done.error();
  std::ranges::sort(taken, {}, &spi::OwnedShard::shard);
  return taken;
}

Status Ownership::release(const spi::Scope& scope, const WorkerId& worker,
                          std::span<const spi::OwnedShard> shards) {
  const auto unclean = spi::unclean_owner();
  Params params;
  params.text(scope)
      .text(worker.view())
      .array(Type::int2, shards,
             [](const spi::OwnedShard& s) { return static_cast<std::int16_t>(s.shard.value); })
      .array(Type::int8, shards,
             [](const spi::OwnedShard& s) { return static_cast<std::int64_t>(s.epoch.value); })
      .array(Type::boolean, shards, [](const spi::OwnedShard& s) { return s.unclean; })
      .text(unclean.view());
  auto done = run(release_, params, Effect::commits);
  if (!done.ok()) return done.error();
  return {};
}

Status Ownership::withdraw(const WorkerId& worker, std::span<const spi::Scope> scopes) {
  Params params;
  params.text(worker.view()).array(Type::text, scopes, [](const spi::Scope& scope) {
    return std::string_view(scope);
  });
  auto done = run(withdraw_, params, Effect::commits);
  if (!done.ok()) return done.error();
  return {};
}

Status Ownership::leave(const WorkerId& worker) {
  Params params;
  params.text(worker.view());
  auto done = run(leave_, params, Effect::commits);
  if (!done.ok()) return done.error();
  return {};
}

}  // namespace sagabox::postgres
