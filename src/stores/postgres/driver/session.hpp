#pragma once

#include "stores/postgres/driver/pool.hpp"
#include "stores/sql/session.hpp"

#include <sagabox/spi/transaction.hpp>

#include <memory>
#include <span>
#include <vector>

namespace sagabox::postgres {

/// Over a connection that somebody else has opened a transaction on.
class LinkSession final : public sql::Session {
 public:
  using sql::Session::run;
  explicit LinkSession(Link& link) : link_(link) {}
  Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override;
  Result<WallTime> now() override;

 private:
  Link& link_;
};

/// Each session takes a connection of the pool while it lives.
class PostgresSessions final : public sql::Sessions {
 public:
  explicit PostgresSessions(Pool& pool) : pool_(pool) {}
  Result<std::unique_ptr<sql::Session>> reader() override;
  Result<std::unique_ptr<sql::OwnedSession>> begin() override;

 private:
  Pool& pool_;
};

/// In the transaction of `begin()` or `enlist()` of this store. TX.NO_TRANSACTION when it has ended
/// or is not one of PostgreSQL.
Result<std::unique_ptr<sql::Session>> session_of(Transaction& transaction);

}  // namespace sagabox::postgres
