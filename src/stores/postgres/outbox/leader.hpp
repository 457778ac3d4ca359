#pragma once

#include "stores/postgres/driver/context.hpp"
#include "stores/sql/statement.hpp"

#include <sagabox/spi/ownership_store.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace sagabox::postgres {

/// Mode `leader`: the shards of an outbox belong to the holder of a session lock, on a connection
/// of its own. When that connection ends, the next leader need not wait for the lease. A session
/// whose worker has let its lease run out is terminated by the next worker that wants the lock, or
/// by the server after being idle that long. Epochs and fences are those of the leases beneath;
/// other scopes are shared as in the other modes.
class LeaderOwnership final : public spi::OwnershipStore {
 public:
  LeaderOwnership(sql::Sections& sections, Context& context, spi::OwnershipStore& leases);

  Result<spi::LeaseReply> join(const WorkerId& worker, Duration ttl,
                               std::span<const spi::Scope> scopes, std::uint16_t shards) override;
  /// Also not live for a leader whose session has ended.
  Result<spi::LeaseReply> renew(const WorkerId& worker, Duration ttl) override;
  /// An owner without a session does not count as live.
  Result<spi::Census> census(const spi::Scope& scope) override;
  /// Takes every shard that the leader does not have yet, even under a running lease.
  Result<std::vector<spi::OwnedShard>> take(const spi::Scope& scope, const WorkerId& worker,
                                            std::uint16_t shards_max) override;
  /// After the last shard the lock is released.
  Status release(const spi::Scope& scope, const WorkerId& worker,
                 std::span<const spi::OwnedShard> shards) override;
  Status withdraw(const WorkerId& worker, std::span<const spi::Scope> scopes) override {
    return leases_.withdraw(worker, scopes);
  }
  Status leave(const WorkerId& worker) override;

 private:
  /// The session of a worker that leads a scope.
  struct Session {
    std::mutex mutex;  // for both members
    std::unique_ptr<Connection> connection;
    bool lost = false;
  };
  using Key = std::pair<WorkerId, spi::Scope>;

  std::shared_ptr<Session> find(const WorkerId& worker, const spi::Scope& scope);
  [[nodiscard]] std::vector<Key> led_by(const WorkerId& worker);
  /// Returns false, and forgets ended sessions, unless all sessions of this worker are alive.
  bool sessions_live(const WorkerId& worker);
  /// Drops ended sessions: a worker that restarts under another id does not leave first.
  void forget_ended();
  void forget(const WorkerId& worker, const spi::Scope& scope);
  /// Unlocks, so that the next leader need not wait until the server notices the closed connection.
  void step_down(const WorkerId& worker, const spi::Scope& scope);
  /// Returns null if another worker leads.
  Result<std::shared_ptr<Session>> lead(const spi::Scope& scope, const WorkerId& worker);
  Result<std::unique_ptr<Connection>> connect(const WorkerId& worker);
  Result<bool> lock(Connection& connection, const spi::Scope& scope);
  Result<std::vector<spi::OwnedShard>> take_all(Connection& connection, const spi::Scope& scope,
                                                const WorkerId& worker, std::uint16_t shards_max);
  Result<bool> owns_any(Connection& connection, const spi::Scope& scope, const WorkerId& worker);

  Context& context_;
  spi::OwnershipStore& leases_;
  const sql::Statement introduce_;
  const sql::Statement lock_;
  const sql::Statement unlock_;
  const sql::Statement end_expired_;
  const sql::Statement find_;
  const sql::Statement lock_others_;
  const sql::Statement take_;
  const sql::Statement owns_any_;

  std::mutex mutex_;  // guards the members below
  std::map<Key, std::shared_ptr<Session>> sessions_;
  std::map<WorkerId, Duration> ttls_;
};

}  // namespace sagabox::postgres
