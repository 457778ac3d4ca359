#pragma once

#include "stores/postgres/driver/sqlstate.hpp"
#include "stores/postgres/driver/values.hpp"
#include "stores/sql/statement.hpp"

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <libpq-fe.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sagabox::postgres {

/// A statement in SQL, with $1, $2 … It is prepared under its name when first run on a connection;
/// without a name it is parsed each time.
using Statement = sql::Part;

struct Call {
  const Statement* statement = nullptr;
  const Params* params = nullptr;
};

/// Names of the statements prepared on one connection.
using PreparedNames = std::set<std::string, std::less<>>;

/// Runs statements over a connection that the caller keeps open. Not thread-safe.
class Link {
 public:
  struct Limits {
    const Clock* clock = nullptr;
    /// How long an answer may take; nullopt: no limit.
    std::optional<Duration> answer_max{};
  };

  /// If `prepared` is null, statements are not prepared.
  Link(PGconn* connection, PreparedNames* prepared, Limits limits)
      : connection_(connection), prepared_(prepared), limits_(limits) {}

  /// Runs all in one round trip, with one answer each. Outside a transaction they are one
  /// transaction. The first error ends it: the calls after it are not run.
  Result<std::vector<Rows>> run(std::span<const Call> calls, Effect effect);
  Result<Rows> run(const Statement& statement, const Params& params, Effect effect);
  /// The same, but each answer is passed on as soon as it arrives, while the server runs the next
  /// call. On an error, some answers may have been passed on.
  using Take = std::function<void(std::size_t call, Rows answer)>;
  Status run(std::span<const Call> calls, Effect effect, const Take& take);

  void prepare_nothing() noexcept { prepared_ = nullptr; }

  /// The last call ended without an answer: the connection cannot be used any more.
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  /// The server's prepared statements are not ours: the caller or a pooler has changed them.
  [[nodiscard]] bool confused() const noexcept { return confused_; }

 private:
  /// One message to the server: it either prepares the statement of that name or runs it.
  struct Piece {
    const std::string* name = nullptr;
    bool prepares = false;
  };

  Result<Rows> run_prepared(const std::string& name, const Params& params);
  Status exchange(std::span<const Call> calls, Effect effect, const Take& take);
  [[nodiscard]] BootTime answer_deadline() const;
  Status end(BootTime deadline, Effect effect);
  bool send(const Call& call, std::vector<Piece>& sent);
  Error failed_with(const PGresult* result, const Piece& piece, Effect effect);
  /// Returns null at the end of the results of one piece.
  Result<PGresult*> next(BootTime deadline, Effect effect);
  Status wait(bool to_send, BootTime deadline, Effect effect);
  Error lost_now(Effect effect);

  PGconn* connection_;
  PreparedNames* prepared_;
  Limits limits_;
  bool lost_ = false;
  bool confused_ = false;
};

}  // namespace sagabox::postgres
