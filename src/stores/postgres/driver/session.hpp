#pragma once

#include "stores/postgres/driver/pool.hpp"
#include "stores/sql/session.hpp"

#include <sagabox/spi/transaction.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sagabox::postgres {

/// Uses a connection on which the caller has opened a transaction.
class LinkSession final : public sql::Session {
 public:
  using sql::Session::run;
  explicit LinkSession(Link& link) : link_(link) {}
  Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override;
  Result<WallTime> now() override;

 private:
  Link& link_;
};

/// Uses a connection of the store, which must outlive it.
class ConnectionSession final : public sql::Session {
 public:
  using sql::Session::run;
  /// `effect` is that of statements outside a transaction.
  explicit ConnectionSession(Connection& connection, Effect effect = Effect::none)
      : connection_(connection), effect_(effect) {}
  Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override;
  Result<WallTime> now() override;
  [[nodiscard]] Timeline timeline() const override { return connection_.timeline(); }

 private:
  Connection& connection_;
  Effect effect_;
};

/// Each session holds a connection of the pool while it exists.
class PostgresSessions final : public sql::Sessions {
 public:
  explicit PostgresSessions(Pool& pool) : pool_(pool) {}
  Result<std::unique_ptr<sql::Session>> reader() override;
  Result<std::unique_ptr<sql::Session>> autocommit() override;
  Result<std::unique_ptr<sql::OwnedSession>> begin() override;

 private:
  Result<std::unique_ptr<sql::Session>> outside_transactions(Effect effect);

  Pool& pool_;
};

/// A view of rows for the kit. The rows must outlive it.
class RowsView final : public sql::Answer {
 public:
  explicit RowsView(const Rows& rows) : rows_(rows) {}
  [[nodiscard]] int size() const override { return rows_.size(); }
  [[nodiscard]] bool is_null(int row, int column) const override;
  [[nodiscard]] bool boolean(int row, int column) const override;
  [[nodiscard]] std::int64_t integer(int row, int column) const override;
  [[nodiscard]] std::string_view text(int row, int column) const override;
  [[nodiscard]] WallTime time(int row, int column) const override;

 private:
  const Rows& rows_;
};

/// A session in the transaction of `begin()` or `enlist()` of this store. TX.NO_TRANSACTION when
/// the transaction has ended or does not belong to PostgreSQL.
Result<std::unique_ptr<sql::Session>> session_of(Transaction& transaction);

}  // namespace sagabox::postgres
