#include "stores/postgres/outbox/leader.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace sagabox::postgres {
namespace {

/// Only relays have a leader; purges and replay jobs are shared as ever.
bool is_led(const spi::Scope& scope) { return scope.starts_with("outbox:"); }

constexpr int version_with_idle_timeout = 140000;
/// A session that was ended lets go of its locks a moment later.
constexpr int tries_after_putting_out = 100;

// The name tells operators who leads, and stand-bys whose session it is. $2 in milliseconds; 0: the
// server is older than PostgreSQL 14, which does not know the setting.
constexpr std::string_view introduce_sql = R"sql(
SELECT set_config('application_name', left('sagabox leader ' || $1, 63), false),
       CASE WHEN $2 <> '0' THEN set_config('idle_session_timeout', $2, false) END
)sql";

constexpr std::string_view lead_sql = R"sql(
SELECT pg_try_advisory_lock(hashtextextended('sagabox leader {schema} ' || $1, 0))
)sql";

constexpr std::string_view unlock_sql = R"sql(
SELECT pg_advisory_unlock(hashtextextended('sagabox leader {schema} ' || $1, 0))
)sql";

// Who holds the lock of a scope: $1.
constexpr std::string_view led_sql = R"sql(
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND objsubid = 1
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (classid::int8 << 32) | objid::int8
      = hashtextextended('sagabox leader {schema} ' || $1, 0)
)sql";

constexpr std::string_view put_out_sql = R"sql(
SELECT pg_terminate_backend(l.pid)
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (l.classid::int8 << 32) | l.objid::int8
      = hashtextextended('sagabox leader {schema} ' || $1, 0)
  AND a.application_name LIKE 'sagabox leader %'
  AND NOT EXISTS (SELECT FROM "{schema}".worker w
                  WHERE a.application_name = left('sagabox leader ' || w.id, 63)
                    AND w.lease_until > clock_timestamp())
)sql";

// A settle that holds some is waited for: no census would tell that any are left.
constexpr std::string_view lock_others_sql = R"sql(
SELECT shard FROM "{schema}".shard_owner
WHERE scope = $1 AND owner IS DISTINCT FROM $2
ORDER BY shard
LIMIT $3
FOR UPDATE
)sql";

constexpr std::string_view lead_take_sql = R"sql(
WITH others AS MATERIALIZED (
  SELECT o.shard, o.owner FROM "{schema}".shard_owner o
  WHERE o.scope = $1 AND o.shard = ANY ($3::smallint[])
    AND EXISTS (SELECT FROM "{schema}".member m JOIN "{schema}".worker w ON w.id = m.worker
                WHERE m.scope = $1 AND m.worker = $2 AND w.lease_until > clock_timestamp())
)
UPDATE "{schema}".shard_owner o SET owner = $2, epoch = o.epoch + 1
FROM others WHERE o.scope = $1 AND o.shard = others.shard
RETURNING o.shard, o.epoch, others.owner IS NOT NULL
)sql";

constexpr std::string_view owns_any_sql = R"sql(
SELECT EXISTS (SELECT FROM "{schema}".shard_owner WHERE scope = $1 AND owner = $2)
)sql";

Params scope_params(const spi::Scope& scope) {
  Params params;
  params.text(scope);
  return params;
}

}  // namespace

LeaderOwnership::LeaderOwnership(Context& context, Ownership& leases)
    : context_(context),
      leases_(leases),
      introduce_{"", std::string(introduce_sql)},
      lock_{"lead", context.names.fill(lead_sql)},
      unlock_{"step_down", context.names.fill(unlock_sql)},
      put_out_{"", context.names.fill(put_out_sql)},
      led_{"led", context.names.fill(led_sql)},
      lock_others_{"lead_lock_others", context.names.fill(lock_others_sql)},
      take_{"lead_take", context.names.fill(lead_take_sql)},
      owns_any_{"owns_any", context.names.fill(owns_any_sql)} {}

std::shared_ptr<LeaderOwnership::Session> LeaderOwnership::find(const WorkerId& worker,
                                                                const spi::Scope& scope) {
  const std::lock_guard lock(mutex_);
  const auto known = sessions_.find({worker, scope});
  return known == sessions_.end() ? nullptr : known->second;
}

void LeaderOwnership::forget(const WorkerId& worker, const spi::Scope& scope) {
  const std::lock_guard lock(mutex_);
  sessions_.erase({worker, scope});
}

void LeaderOwnership::step_down(const WorkerId& worker, const spi::Scope& scope) {
  const auto session = find(worker, scope);
  if (session == nullptr) return;
  forget(worker, scope);
  const std::lock_guard lock(session->mutex);
  (void)session->connection->run(unlock_, scope_params(scope), Effect::none);
}

std::vector<LeaderOwnership::Key> LeaderOwnership::led_by(const WorkerId& worker) {
  std::vector<Key> led;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, session] : sessions_) {
    if (key.first == worker) led.push_back(key);
  }
  return led;
}

void LeaderOwnership::forget_ended() {
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [](const auto& entry) {
    Session& session = *entry.second;
    const std::unique_lock free(session.mutex, std::try_to_lock);
    return free && (session.lost || !session.connection->reusable());
  });
}

Result<spi::LeaseReply> LeaderOwnership::join(const WorkerId& worker, Duration ttl,
                                              std::span<const spi::Scope> scopes,
                                              std::uint16_t shards) {
  auto joined = leases_.join(worker, ttl, scopes, shards);
  if (!joined.ok() || !joined->live) return joined;
  forget_ended();
  const std::lock_guard lock(mutex_);
  ttls_[worker] = ttl;
  return joined;
}

Result<spi::LeaseReply> LeaderOwnership::renew(const WorkerId& worker, Duration ttl) {
  // A leader whose session has ended must not lengthen the lease of what another takes over.
  if (!sessions_live(worker)) {
    auto connection = context_.owners.take();
    if (!connection.ok()) return connection.error();
    return spi::LeaseReply{.live = false, .timeline = (*connection)->timeline()};
  }
  auto renewed = leases_.renew(worker, ttl);
  if (!renewed.ok()) return renewed;
  if (!renewed->live) {
    for (const auto& [id, scope] : led_by(worker)) forget(id, scope);
    const std::lock_guard lock(mutex_);
    ttls_.erase(worker);
    return renewed;
  }
  const std::lock_guard lock(mutex_);
  ttls_[worker] = ttl;
  return renewed;
}

bool LeaderOwnership::sessions_live(const WorkerId& worker) {
  static const Statement still_there{"", "SELECT 1"};
  bool live = true;
  for (const auto& [id, scope] : led_by(worker)) {
    const auto session = find(id, scope);
    if (session == nullptr) continue;
    const std::lock_guard lock(session->mutex);
    if (!session->lost && session->connection->run(still_there, {}, Effect::none).ok()) continue;
    live = false;
    forget(id, scope);
  }
  return live;
}

Result<spi::Census> LeaderOwnership::census(const spi::Scope& scope) {
  auto census = leases_.census(scope);
  if (!census.ok() || !is_led(scope)) return census;
  auto connection = context_.owners.take();
  if (!connection.ok()) return connection.error();
  auto led = (*connection)->run(led_, scope_params(scope), Effect::none);
  if (!led.ok()) return led.error();
  if (!led->empty()) return census;
  std::erase_if(census->live, [&](const WorkerId& worker) {
    return std::ranges::find(census->shards, worker, &spi::ShardOwner::owner) !=
           census->shards.end();
  });
  return census;
}

Result<std::unique_ptr<Connection>> LeaderOwnership::connect(const WorkerId& worker) {
  auto connection = Connection::open(context_.owners.settings());
  if (!connection.ok()) return connection;
  if ((*connection)->pooled()) {
    return Error{Code::config_invalid,
                 "a leader's lock belongs to a session, and a pooler in transaction mode has none; "
                 "connect without the pooler, or use the mode sharded"};
  }
  auto idle_max = std::chrono::milliseconds(0);
  if (PQserverVersion((*connection)->handle()) >= version_with_idle_timeout) {
    const std::lock_guard lock(mutex_);
    const auto ttl = ttls_.find(worker);
    if (ttl != ttls_.end()) idle_max = std::chrono::ceil<std::chrono::milliseconds>(ttl->second);
  }
  Params params;
  params.text(worker.view()).text(std::to_string(idle_max.count()));
  if (auto named = (*connection)->run(introduce_, params, Effect::none); !named.ok()) {
    return named.error();
  }
  return connection;
}

Result<bool> LeaderOwnership::lock(Connection& connection, const spi::Scope& scope) {
  const auto params = scope_params(scope);
  const auto try_it = [&]() -> Result<bool> {
    auto locked = connection.run(lock_, params, Effect::none);
    if (!locked.ok()) return locked.error();
    return locked->boolean(0, 0);
  };
  auto locked = try_it();
  if (!locked.ok() || *locked) return locked;
  auto put_out = connection.run(put_out_, params, Effect::none);
  if (!put_out.ok()) return put_out.error();
  static const Statement moment{"", "SELECT pg_sleep(0.005)"};
  for (int tries = 0; !put_out->empty() && tries < tries_after_putting_out; ++tries) {
    locked = try_it();
    if (!locked.ok() || *locked) return locked;
    if (auto slept = connection.run(moment, {}, Effect::none); !slept.ok()) return slept.error();
  }
  return false;
}

Result<std::shared_ptr<LeaderOwnership::Session>> LeaderOwnership::lead(const spi::Scope& scope,
                                                                        const WorkerId& worker) {
  if (auto session = find(worker, scope)) {
    const std::lock_guard guard(session->mutex);
    // Somebody else may have led in between: renewing says so.
    session->lost = session->lost || !session->connection->reusable();
    return session->lost ? nullptr : session;
  }
  auto connection = connect(worker);
  if (!connection.ok()) return connection.error();
  auto locked = lock(**connection, scope);
  if (!locked.ok()) return locked.error();
  if (!*locked) return std::shared_ptr<Session>();
  auto session = std::make_shared<Session>();
  session->connection = std::move(connection).value();
  const std::lock_guard guard(mutex_);
  sessions_[{worker, scope}] = session;
  return session;
}

Result<std::vector<spi::OwnedShard>> LeaderOwnership::take(const spi::Scope& scope,
                                                           const WorkerId& worker,
                                                           std::uint16_t shards_max) {
  if (!is_led(scope)) return leases_.take(scope, worker, shards_max);
  auto session = lead(scope, worker);
  if (!session.ok()) return session.error();
  if (*session == nullptr) return std::vector<spi::OwnedShard>{};
  // On the session itself: without it nothing can be taken.
  std::unique_lock lock((*session)->mutex);
  Connection& connection = *(*session)->connection;
  auto taken = take_all(connection, scope, worker, shards_max);
  if (!taken.ok()) {
    (void)connection.rollback();
    return taken;
  }
  auto leads = owns_any(connection, scope, worker);
  lock.unlock();
  if (!leads.ok()) return leads.error();
  if (!*leads) step_down(worker, scope);
  return taken;
}

Result<std::vector<spi::OwnedShard>> LeaderOwnership::take_all(Connection& connection,
                                                               const spi::Scope& scope,
                                                               const WorkerId& worker,
                                                               std::uint16_t shards_max) {
  Params wanted;
  wanted.text(scope).text(worker.view()).int8(shards_max);
  if (auto begun = connection.begin(); !begun.ok()) return begun.error();
  auto locked = connection.run(lock_others_, wanted, Effect::none);
  if (!locked.ok()) return locked.error();
  std::vector<std::int16_t> others;
  for (int i = 0; i < locked->size(); ++i) others.push_back(locked->int2(i, 0));
  Params params;
  params.text(scope).text(worker.view()).array(Type::int2, others, std::identity{});
  auto rows = connection.run(take_, params, Effect::none);
  if (!rows.ok()) return rows.error();
  if (auto done = connection.commit(); !done.ok()) return done.error();
  std::vector<spi::OwnedShard> taken;
  for (int i = 0; i < rows->size(); ++i) {
    taken.push_back({Shard{static_cast<std::uint16_t>(rows->int2(i, 0))}, Epoch{rows->uint8(i, 1)},
                     rows->boolean(i, 2)});
  }
  std::ranges::sort(taken, {}, &spi::OwnedShard::shard);
  return taken;
}

Result<bool> LeaderOwnership::owns_any(Connection& connection, const spi::Scope& scope,
                                       const WorkerId& worker) {
  Params params;
  params.text(scope).text(worker.view());
  auto rows = connection.run(owns_any_, params, Effect::none);
  if (!rows.ok()) return rows.error();
  return rows->boolean(0, 0);
}

Status LeaderOwnership::release(const spi::Scope& scope, const WorkerId& worker,
                                std::span<const spi::OwnedShard> shards) {
  if (auto released = leases_.release(scope, worker, shards); !released.ok()) return released;
  const auto session = find(worker, scope);
  if (session == nullptr) return {};
  std::unique_lock lock(session->mutex);
  if (session->lost) return {};
  auto leads = owns_any(*session->connection, scope, worker);
  lock.unlock();
  if (leads.ok() && !*leads) step_down(worker, scope);
  return {};
}

Status LeaderOwnership::leave(const WorkerId& worker) {
  if (auto left = leases_.leave(worker); !left.ok()) return left;
  for (const auto& [id, scope] : led_by(worker)) step_down(id, scope);
  const std::lock_guard lock(mutex_);
  ttls_.erase(worker);
  return {};
}

}  // namespace sagabox::postgres
