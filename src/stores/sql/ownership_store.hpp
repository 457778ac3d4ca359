#pragma once

#include "stores/sql/session.hpp"

#include <sagabox/spi/ownership_store.hpp>

#include <span>
#include <vector>

namespace sagabox::sql {

struct OwnershipStatements {
  explicit OwnershipStatements(Sections& sections);

  Statement make_scopes;
  Statement join;
  Statement renew;
  Statement leave;
  Statement withdraw;
  Statement members;
  Statement shards;
  Statement lock_free;
  Statement take;
  Statement release;
};

/// The rows of `shards_take` and of statements with the same columns (shard, epoch, unclean),
/// ascending.
std::vector<spi::OwnedShard> owned_shards(const Rows& rows);
/// The first column of each row.
std::vector<std::int64_t> numbers_of(const Rows& rows);

/// Workers, leases and shard owners in tables.
class OwnershipStore final : public spi::OwnershipStore {
 public:
  /// `renewals` are separate sessions, so that no renewal waits for other calls.
  OwnershipStore(Sections& sections, Sessions& sessions, Sessions& renewals)
      : statements_(sections), sessions_(sessions), renewals_(renewals) {}

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
  Result<std::vector<spi::OwnedShard>> apply_changes(Session& session, const spi::Scope& scope,
                                                     const WorkerId& worker,
                                                     std::uint16_t shards_max);
  /// Runs it in a transaction of its own.
  Status run_alone(const Statement& statement, Values values);

  const OwnershipStatements statements_;
  Sessions& sessions_;
  Sessions& renewals_;
};

}  // namespace sagabox::sql
