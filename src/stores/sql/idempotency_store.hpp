#pragma once

#include "stores/sql/audit_store.hpp"
#include "stores/sql/session.hpp"

#include <sagabox/spi/idempotency_store.hpp>

#include <functional>
#include <span>
#include <vector>

namespace sagabox::sql {

struct IdempotencyStatements {
  explicit IdempotencyStatements(Sections& sections);

  Statement take;
  Statement look;
  Statement finish;
  Statement fail;
  Statement renew;
  Statement purge_expired;
  Statement purge_key;
  Statement is_made;
  Statement list;
  Statement list_of_tenant;
  Statement list_of_consumer;
  Statement get;
};

/// Records of requests. The unique key of their table decides who is let through; the conditions
/// are those of spi/idempotency_rules.hpp in SQL.
class IdempotencyStore final : public spi::IdempotencyStore {
 public:
  struct Parts {
    Sessions& sessions;
    Sessions& lease_sessions;  ///< for renewals, which must not wait for the rest
    const AuditChain& audit;
    const Clock* clock;  ///< of a database that has none itself; null: its SQL knows the time
    std::function<Status()> prepare;
  };

  IdempotencyStore(Sections& sections, Parts parts)
      : parts_(std::move(parts)), statements_(sections) {}

  Status prepare() override { return parts_.prepare(); }
  Result<bool> is_made() override { return has_rows(parts_.sessions, statements_.is_made); }
  Result<std::vector<spi::IdempotencyCheckReply>> check(
      std::span<const spi::IdempotencyCheck> checks) override;
  Result<std::vector<bool>> finish(std::span<const spi::IdempotencyFinish> finished) override;
  Result<std::vector<bool>> fail(std::span<const spi::IdempotencyFail> failed) override;
  Result<std::vector<bool>> renew(std::span<const spi::IdempotencyRenew> renewals) override;
  Result<std::uint64_t> purge(const spi::IdempotencyPurge& request) override;
  Result<std::vector<IdempotencyRecord>> list(const spi::IdempotencyListRequest& request) override;
  Result<std::optional<IdempotencyRecord>> get(const IdempotencyKey& key) override;

 private:
  /// In one transaction and, where the database can do that, one round trip.
  static Result<std::vector<Rows>> run(Sessions& sessions, std::span<const Call> calls);
  using FoundReplies = std::vector<std::optional<spi::IdempotencyCheckReply>>;
  /// Takes the keys of `open`, or looks at what stands in their way. One round trip.
  Status ask(bool taking, std::span<const spi::IdempotencyCheck> checks,
             std::span<const std::size_t> open, FoundReplies& found);
  /// Runs `statement` for each, in the order of their keys so that two batches do not lock each
  /// other out. Answers whether it found a row.
  template <class Change, class ValuesOf>
  Result<std::vector<bool>> change(Sessions& sessions, const Statement& statement,
                                   std::span<const Change> changes, ValuesOf&& values_of);
  Result<std::uint64_t> purge_in(Session& session, const spi::IdempotencyPurge& request);
  [[nodiscard]] std::optional<WallTime> now() const;

  const Parts parts_;
  const IdempotencyStatements statements_;
};

}  // namespace sagabox::sql
