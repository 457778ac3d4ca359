#pragma once

#include "stores/postgres/driver/context.hpp"

#include <sagabox/spi/ownership_store.hpp>

#include <span>
#include <vector>

namespace sagabox::postgres {

/// Workers, leases and shard owners; renewals go over a connection of their own. All times are
/// judged by `clock_timestamp()`: `now()` stands still in a transaction that waits.
class Ownership final : public spi::OwnershipStore {
 public:
  explicit Ownership(Context& context);

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
  Result<Rows> run(const Statement& statement, const Params& params, Effect effect);

  Context& context_;
  const Statement make_scopes_;
  const Statement counts_;
  const Statement forget_departed_;
  const Statement join_;
  const Statement add_member_;
  const Statement make_shards_;
  const Statement renew_;
  const Statement live_;
  const Statement owners_;
  const Statement lock_free_;
  const Statement take_;
  const Statement release_;
  const Statement withdraw_;
  const Statement leave_;
};

}  // namespace sagabox::postgres
