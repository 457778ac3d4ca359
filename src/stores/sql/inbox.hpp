#pragma once

#include "stores/sql/session.hpp"

#include <sagabox/spi/inbox.hpp>

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sagabox::sql {

/// Run on connections of callers, too: they qualify what they use.
struct InboxStatements {
  explicit InboxStatements(Sections& sections);

  Statement first_time;
  Statement renew;
  Statement barrier;
};

/// The inbox of a transaction. `session` gives one in it, or TX.NO_TRANSACTION.
class TransactionInbox final : public Inbox {
 public:
  using Open = std::function<Result<std::unique_ptr<Session>>()>;
  /// `clock`: of a database that has none itself; null: its SQL knows the time.
  TransactionInbox(const InboxStatements& statements, const Clock* clock, Open open)
      : statements_(&statements), clock_(clock), open_(std::move(open)) {}

  using Inbox::first_time;
  Result<bool> first_time(const IdempotencyKey& key) override;
  Result<BarrierAnswer> barrier(const BarrierCall& call) override;

 private:
  [[nodiscard]] std::optional<WallTime> now() const;

  const InboxStatements* statements_;
  const Clock* clock_;
  Open open_;
};

struct InboxStoreStatements {
  explicit InboxStoreStatements(Sections& sections);

  Statement is_made;
  Statement taken;
  Statement purge_keys;
  Statement purge_barriers;
};

class InboxStore final : public spi::InboxStore {
 public:
  struct Parts {
    Sessions& sessions;
    const Clock* clock;  ///< as above
    std::function<Status()> prepare;
  };

  InboxStore(Sections& sections, Parts parts) : parts_(std::move(parts)), statements_(sections) {}

  Status prepare() override { return parts_.prepare(); }
  Result<bool> is_made() override { return has_rows(parts_.sessions, statements_.is_made); }
  Result<std::vector<bool>> taken(std::span<const IdempotencyKey> keys) override;
  Result<spi::InboxPurgeReply> purge(const spi::InboxPurge& request) override;

 private:
  const Parts parts_;
  const InboxStoreStatements statements_;
};

}  // namespace sagabox::sql
