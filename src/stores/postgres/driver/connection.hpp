#pragma once

#include "stores/postgres/driver/link.hpp"

#include <sagabox/id.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sagabox::postgres {

/// What every connection of a store is made with.
struct ConnectSettings {
  std::string url;
  Duration connect_max = std::chrono::seconds(5);
  Duration statement_max = std::chrono::seconds(30);  ///< 0: no limit
  Duration lock_max = std::chrono::seconds(5);
  /// What may be added to `statement_max` before the server counts as gone.
  Duration answer_grace = std::chrono::seconds(5);
  /// Every execution is planned for its parameters: a plan made while a table was empty is a
  /// sequential scan when it is full. Reads and settles keep theirs all the same; see `keep_plan`.
  bool custom_plans = true;
  /// For sessions whose every statement has an index: each is planned once, and a plan made while a
  /// table was empty serves a full one.
  bool index_scans_only = false;
  /// What is asked for in the order of an index is read along it, never sorted or through a bitmap.
  bool in_index_order = false;
  /// A transaction that we leave lying for so long is rolled back by the server, so that a process
  /// that was stopped in the middle holds nothing for good; 0: no limit.
  Duration idle_max = std::chrono::seconds(5);
  /// A pooler in transaction mode stands between, though it may not show.
  bool pooled = false;
  const Clock* clock = &system_clock();
};

/// Error unless the server knows all that we ask of it. As `PQserverVersion` tells it: 150004.
Status check_server_version(int version);

/// A connection of our own. Not thread-safe. Statements outside `begin` and `commit` are a
/// transaction each.
class Connection {
 public:
  /// To a primary: a replica is an error.
  static Result<std::unique_ptr<Connection>> open(const ConnectSettings& settings);

  /// One round trip. `Effect::commits` for whatever writes outside a transaction.
  Result<Rows> run(const Statement& statement, const Params& params, Effect effect);
  /// Several in one round trip; outside a transaction they are one. See `Link::run`.
  Result<std::vector<Rows>> run(std::span<const Call> calls, Effect effect);

  /// Reads only, all on the same snapshot, in one round trip. `take` gets every answer when it is
  /// there: the server goes on with the next call meanwhile. When it fails, some may have been
  /// taken. Not behind a pooler. The snapshot is made by the first call that needs one: lock a
  /// table before, or a change that rewrites it leaves it empty for whoever waited.
  Status run_on_snapshot(std::span<const Call> calls, const Link::Take& take);

  /// Several statements as in a file, without parameters: for the schema only.
  Status script(const std::string& sql);
  /// The same; the first value of the last one, as text.
  Result<std::string> script_value(const std::string& sql);

  Status begin();
  /// `begin` and `run` in one round trip. Rolled back by the caller if it fails.
  Result<std::vector<Rows>> begin_and_run(std::span<const Call> calls);
  /// `storage_in_doubt` when the answer is lost. `storage_conflict` when the server rolled back.
  Status commit();
  /// Nothing to do where the connection is lost: the server rolls back.
  Status rollback();

  [[nodiscard]] bool in_transaction() const noexcept {
    return PQtransactionStatus(handle_.get()) != PQTRANS_IDLE;
  }
  /// May be used again: neither lost nor closed by the server, and in no transaction.
  [[nodiscard]] bool reusable();
  [[nodiscard]] bool lost() const noexcept { return link_.lost(); }
  /// Of the server, as it was when we connected: a primary keeps its timeline while it runs. Behind
  /// a pooler, of the server that ran the last transaction.
  [[nodiscard]] Timeline timeline() const noexcept { return timeline_; }
  /// A pooler stands between: the session is not ours. No session locks, LISTEN or SET.
  [[nodiscard]] bool pooled() const noexcept { return pooled_; }
  [[nodiscard]] Link& link() noexcept { return link_; }
  [[nodiscard]] PGconn* handle() const noexcept { return handle_.get(); }

 private:
  struct Finish {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
  };
  using Handle = std::unique_ptr<PGconn, Finish>;

  Connection(Handle handle, const ConnectSettings& settings);
  Status set_up(const ConnectSettings& settings);
  /// Looks at what the set-up statements answered.
  Status learn(const Rows& facts, const Rows& system);
  /// Begins a transaction, sets it up, and runs the calls in it, in one round trip. Without `begin`
  /// it is these calls' own.
  Result<std::vector<Rows>> run_pooled(const Call* begin, std::span<const Call> calls,
                                       Effect effect);

  Handle handle_;
  PreparedNames prepared_;
  Link link_;
  Timeline timeline_{};
  Params limits_;  // of the set-up statement
  bool may_ask_system_ = false;
  bool pooled_ = false;
};

/// "postgres://db:5433/orders": no user, no password, no options. Error CONFIG.INVALID when `url`
/// is not a connection string.
Result<std::string> public_name(const std::string& url);

/// The parameters of an open connection, its password too, as key=value pairs.
Result<std::string> url_of(PGconn* connection);

}  // namespace sagabox::postgres
