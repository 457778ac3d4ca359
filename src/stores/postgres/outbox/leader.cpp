#include "stores/postgres/outbox/leader.hpp"

#include "core/scopes.hpp"
#include "stores/sql/ownership_store.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace sagabox::postgres {
namespace {

/// Only relays have a leader; purges and replay jobs are shared as in the other modes.
bool is_led(const spi::Scope& scope) { return is_outbox_scope(scope); }

constexpr int version_with_idle_timeout = 140000;
/// A terminated session releases its locks a moment later.
constexpr int tries_after_end = 100;

/// Runs one statement on a session of a leader.
Result<sql::Rows> run_on(Connection& connection, const sql::Statement& statement,
                         sql::Values values = {}) {
  return LinkSession(connection.link()).run(statement, std::move(values));
}

}  // namespace

LeaderOwnership::LeaderOwnership(sql::Sections& sections, Context& context,
                                 spi::OwnershipStore& leases)
    : context_(context),
      leases_(leases),
      introduce_(sections.take("leader_introduce")),
      lock_(sections.take("leader_lock")),
      unlock_(sections.take("leader_unlock")),
      end_expired_(sections.take("leader_end_expired")),
      find_(sections.take("leader_find")),
      lock_others_(sections.take("leader_lock_others")),
      take_(sections.take("leader_take")),
      owns_any_(sections.take("leader_owns_any")) {}

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
  (void)run_on(*session->connection, unlock_, {scope});
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
  // A leader whose session has ended must not extend a lease on shards that another worker takes
  // over.
  if (!sessions_live(worker)) {
    auto session = context_.owner_sessions.reader();
    if (!session.ok()) return session.error();
    return spi::LeaseReply{.live = false, .timeline = (*session)->timeline()};
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
  auto session = context_.owner_sessions.reader();
  if (!session.ok()) return session.error();
  auto led = (*session)->run(find_, {scope});
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
  auto named = run_on(**connection, introduce_, {worker.view(), std::to_string(idle_max.count())});
  if (!named.ok()) return named.error();
  return connection;
}

Result<bool> LeaderOwnership::lock(Connection& connection, const spi::Scope& scope) {
  const auto try_it = [&]() -> Result<bool> {
    auto locked = run_on(connection, lock_, {scope});
    if (!locked.ok()) return locked.error();
    return locked->front().boolean(0);
  };
  auto locked = try_it();
  if (!locked.ok() || *locked) return locked;
  auto ended = run_on(connection, end_expired_, {scope});
  if (!ended.ok()) return ended.error();
  static const Statement moment{"", "SELECT pg_sleep(0.005)"};
  for (int tries = 0; !ended->empty() && tries < tries_after_end; ++tries) {
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
    // Another worker may have led in between: renew() reports it.
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
  // Uses the session itself: without it no shard can be taken.
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
  if (auto begun = connection.begin(); !begun.ok()) return begun.error();
  auto others = run_on(connection, lock_others_, {scope, worker.view(), shards_max});
  if (!others.ok()) return others.error();
  auto taken = run_on(connection, take_, {scope, worker.view(), sql::numbers_of(*others)});
  if (!taken.ok()) return taken.error();
  if (auto done = connection.commit(); !done.ok()) return done.error();
  return sql::owned_shards(*taken);
}

Result<bool> LeaderOwnership::owns_any(Connection& connection, const spi::Scope& scope,
                                       const WorkerId& worker) {
  auto rows = run_on(connection, owns_any_, {scope, worker.view()});
  if (!rows.ok()) return rows.error();
  return rows->front().boolean(0);
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
