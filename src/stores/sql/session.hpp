#pragma once

#include "stores/sql/rows.hpp"
#include "stores/sql/statement.hpp"
#include "stores/sql/value.hpp"

#include <sagabox/result.hpp>

#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

/// The SQL kit. A role of a store is one class that uses it, for all databases; each database adds
/// its statements (statement.hpp) and its sessions. A class that runs statements in a transaction
/// takes a `Session&`, whichever transaction that is:
///
/// - its own: `in_transaction(sessions, [&](Session& session) { … })`;
/// - that of a native part of the same store, which has a connection and an open transaction:
///   `sqlite::LinkSession` or `postgres::LinkSession` over its `Link`;
/// - a `Transaction` of the public API, enlisted (the caller's own connection) or from
///   `Store::begin`: `sqlite::session_of(transaction)`, `postgres::session_of(transaction)`.
///   The session neither commits nor rolls back; it is valid while the transaction is. On the
///   caller's connection, names are found by the caller's `search_path`: a statement that runs
///   there must qualify every function, type and operator (`OPERATOR(pg_catalog.=)`).
///
/// Operations that must be as fast as the database (read, settle, insert, wake-up) do not use it.
namespace sagabox::sql {

struct Call {
  const Statement* statement = nullptr;
  Values values;
};

/// Runs statements. Not thread-safe.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  /// Runs all calls, with one answer each; in one round trip if the database supports that. The
  /// first error ends it.
  virtual Result<std::vector<Rows>> run(std::span<const Call> calls) = 0;
  Result<Rows> run(const Statement& statement, Values values = {});
  /// The time of the database's clock.
  virtual Result<WallTime> now() = 0;
  /// The history of the database behind it. Always the same if the database has only one.
  [[nodiscard]] virtual Timeline timeline() const { return {}; }
};

/// An open transaction that the caller ends. Its destructor rolls back.
class OwnedSession : public Session {
 public:
  /// STORAGE.IN_DOUBT: it may have been committed.
  virtual Status commit() = 0;
  virtual Status rollback() = 0;
};

/// Makes sessions. Thread-safe.
class Sessions {
 public:
  virtual ~Sessions() = default;
  /// A session for statements that change nothing, each with a snapshot of its own.
  virtual Result<std::unique_ptr<Session>> reader() = 0;
  /// A session for statements that may change something: each `run` is one transaction, committed
  /// when it returns. STORAGE.IN_DOUBT: it may have been committed. One round trip if the database
  /// supports that.
  virtual Result<std::unique_ptr<Session>> autocommit() = 0;
  virtual Result<std::unique_ptr<OwnedSession>> begin() = 0;
};

/// Whether a statement without parameters returns a row.
Result<bool> has_rows(Sessions& sessions, const Statement& statement);

/// Runs `work(session)` in a transaction of its own; rolls back if it returns an error.
template <class Work>
auto in_transaction(Sessions& sessions, Work&& work) -> std::invoke_result_t<Work, Session&> {
  auto session = sessions.begin();
  if (!session.ok()) return session.error();
  auto result = std::forward<Work>(work)(**session);
  if (!result.ok()) {
    (void)(*session)->rollback();
    return result;
  }
  if (auto committed = (*session)->commit(); !committed.ok()) return committed.error();
  return result;
}

}  // namespace sagabox::sql
