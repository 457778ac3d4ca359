#pragma once

#include "stores/sql/session.hpp"
#include "stores/sqlite/context.hpp"
#include "stores/sqlite/owner_locks.hpp"

#include <sagabox/spi/ownership_store.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sagabox::sqlite {

/// The owners of the shards. Between processes the operating system decides: a shard belongs to the
/// holder of its lock, and there are no leases to renew. Within this store workers have leases, in
/// memory only. The file stores owner and epoch, which change when a shard changes its owner. A
/// file has one history: the timeline is always the same.
class Ownership final : public spi::OwnershipStore {
 public:
  Ownership(sql::Sections& sections, Context& context, OwnerLocks locks);

  Result<spi::LeaseReply> join(const WorkerId& worker, Duration ttl,
                               std::span<const spi::Scope> scopes, std::uint16_t shards) override;
  Result<spi::LeaseReply> renew(const WorkerId& worker, Duration ttl) override;
  Result<spi::Census> census(const spi::Scope& scope) override;
  Result<std::vector<spi::OwnedShard>> take(const spi::Scope& scope, const WorkerId& worker,
                                            std::uint16_t shards_max) override;
  Status release(const spi::Scope& scope, const WorkerId& worker,
                 std::span<const spi::OwnedShard> shards) override;
  Status withdraw(const WorkerId& worker, std::span<const spi::Scope> scopes) override;
  Status leave(const WorkerId& worker) override;

 private:
  struct Lease {
    BootTime until{};
    std::set<spi::Scope, std::less<>> scopes;
  };
  /// A row of the file.
  struct Place {
    std::int64_t number = 0;
    Shard shard{};
    WorkerId owner;
    Epoch epoch{};
  };

  Result<std::vector<Place>> places_of(sql::Session& session, const spi::Scope& scope) const;
  Status make_places(std::span<const spi::Scope> scopes, std::uint16_t shards);
  Status check_places(std::span<const spi::Scope> scopes, std::uint16_t shards, bool& complete);
  Result<std::vector<spi::OwnedShard>> apply_changes(sql::Session& session, const spi::Scope& scope,
                                                     const WorkerId& worker,
                                                     std::uint16_t shards_max,
                                                     std::vector<std::int64_t>& locked);

  // Requires mutex_.
  [[nodiscard]] const Lease* live(const WorkerId& worker) const;
  void forget_departed();
  /// Unlocks the shards of workers whose lease has run out, for other processes too.
  void unlock_expired();
  [[nodiscard]] Duration lease_left(const Place& place) const;

  Context& context_;
  const OwnerLocks locks_;
  const sql::Statement places_;
  const sql::Statement make_place_;
  const sql::Statement take_place_;
  const sql::Statement release_place_;
  std::mutex mutex_;
  std::map<WorkerId, Lease> leases_;
  std::map<std::int64_t, WorkerId> held_;  // the locks of this store, and their workers
};

}  // namespace sagabox::sqlite
