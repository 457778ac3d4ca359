#pragma once

#include "stores/sql/session.hpp"
#include "stores/sqlite/readers.hpp"
#include "stores/sqlite/writer.hpp"

#include <sagabox/spi/transaction.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sagabox::sqlite {

/// Uses a connection on which the caller has opened a transaction.
class LinkSession final : public sql::Session {
 public:
  using sql::Session::run;
  LinkSession(Link& link, const Clock& clock) : link_(link), clock_(clock) {}
  Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override;
  Result<WallTime> now() override { return clock_.wall_now(); }

 private:
  Link& link_;
  const Clock& clock_;
};

/// Reads on a connection of the readers; transactions are those of the writer.
class SqliteSessions final : public sql::Sessions {
 public:
  SqliteSessions(Writer& writer, Readers& readers, const Clock& clock)
      : writer_(writer), readers_(readers), clock_(clock) {}
  Result<std::unique_ptr<sql::Session>> reader() override;
  Result<std::unique_ptr<sql::Session>> autocommit() override;
  Result<std::unique_ptr<sql::OwnedSession>> begin() override;

 private:
  Writer& writer_;
  Readers& readers_;
  const Clock& clock_;
};

/// Reads the current row of a run for the kit.
class RunView final : public sql::Answer {
 public:
  explicit RunView(const Run& run) : run_(run) {}
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] bool is_null(int, int column) const override { return run_.is_null(column); }
  [[nodiscard]] bool boolean(int, int column) const override { return run_.boolean(column); }
  [[nodiscard]] std::int64_t integer(int, int column) const override {
    return run_.integer(column);
  }
  [[nodiscard]] std::string_view text(int, int column) const override { return run_.bytes(column); }
  [[nodiscard]] WallTime time(int, int column) const override { return run_.time(column); }

 private:
  const Run& run_;
};

/// A session in the transaction of `begin()` or `enlist()` of this store. TX.NO_TRANSACTION when
/// the transaction has ended or does not belong to SQLite.
Result<std::unique_ptr<sql::Session>> session_of(Transaction& transaction);

}  // namespace sagabox::sqlite
