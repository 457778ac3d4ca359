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

/// The settings of every connection of a store.
struct ConnectSettings {
  std::string url;
  Duration connect_max = std::chrono::seconds(5);
  Duration statement_max = std::chrono::seconds(30);  ///< 0: no limit
  Duration lock_max = std::chrono::seconds(5);
  /// Added to `statement_max` before the server counts as unreachable.
  Duration answer_grace = std::chrono::seconds(5);
  /// Every execution is planned for its parameters: a plan made while a table was empty is a
  /// sequential scan when it is full. Reads and settles keep their plans all the same; see
  /// `keep_plan`.
  bool custom_plans = true;
  /// For sessions in which every statement has an index: each is planned once, and a plan made
  /// while a table was empty is good for a full one.
  bool index_scans_only = false;
  /// Rows that are requested in the order of an index are read along it, never sorted or through a
  /// bitmap scan.
  bool in_index_order = false;
  /// The server rolls back a transaction of ours that was idle for this long, so that a process
  /// that was stopped in the middle does not keep its locks for ever; 0: no limit.
  Duration idle_max = std::chrono::seconds(5);
  /// There is a pooler in transaction mode, even if it cannot be detected.
  bool pooled = false;
  const Clock* clock = &system_clock();
};

/// Error unless the server has every feature that the store needs. `version` is that of
/// `PQserverVersion`: 150004.
Status check_server_version(int version);

/// A connection that the store owns. Not thread-safe. Statements outside `begin` and `commit` are a
/// transaction each.
class Connection {
 public:
  /// Connects to a primary: a replica is an error.
  static Result<std::unique_ptr<Connection>> open(const ConnectSettings& settings);

  /// One round trip. `Effect::commits` for a statement that writes outside a transaction.
  Result<Rows> run(const Statement& statement, const Params& params, Effect effect);
  /// Runs several in one round trip; outside a transaction they are one. See `Link::run`.
  Result<std::vector<Rows>> run(std::span<const Call> calls, Effect effect);

  /// Reads only, all on the same snapshot, in one round trip. `take` is called with each answer as
  /// soon as it arrives, while the server runs the next call. On an error, `take` may have been
  /// called for some. Not for use behind a pooler. The first call that needs a snapshot makes it.
  /// To wait for a table lock, use a call before that: a reader whose snapshot is older than a
  /// rewrite of the table finds it empty.
  Status run_on_snapshot(std::span<const Call> calls, const Link::Take& take);

  /// Runs several statements as in a file, without parameters: for the schema only.
  Status script(const std::string& sql);
  /// The same; returns the first value of the last statement, as text.
  Result<std::string> script_value(const std::string& sql);

  Status begin();
  /// Runs `begin` and `run` in one round trip. The caller rolls back if it fails.
  Result<std::vector<Rows>> begin_and_run(std::span<const Call> calls);
  /// `storage_in_doubt` when the answer is lost. `storage_conflict` when the server rolled back.
  Status commit();
  /// No-op if the connection is lost: the server rolls back.
  Status rollback();

  [[nodiscard]] bool in_transaction() const noexcept {
    return PQtransactionStatus(handle_.get()) != PQTRANS_IDLE;
  }
  /// True if the connection is neither lost nor closed by the server, and not in a transaction.
  [[nodiscard]] bool reusable();
  [[nodiscard]] bool lost() const noexcept { return link_.lost(); }
  /// The server's timeline when the connection was made: a primary keeps its timeline while it
  /// runs. Behind a pooler, that of the server that ran the last transaction.
  [[nodiscard]] Timeline timeline() const noexcept { return timeline_; }
  /// There is a pooler, so the session is shared: no session locks, LISTEN or SET.
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
  /// Reads the answers of the set-up statements.
  Status learn(const Rows& facts, const Rows& system);
  /// Begins a transaction, sets it up, and runs the calls in it, in one round trip. If `begin` is
  /// null, the transaction contains these calls only.
  Result<std::vector<Rows>> run_pooled(const Call* begin, std::span<const Call> calls,
                                       Effect effect);

  Handle handle_;
  PreparedNames prepared_;
  Link link_;
  Timeline timeline_{};
  Params limits_;  // parameters of the set-up statement
  bool may_ask_system_ = false;
  bool pooled_ = false;
};

/// "postgres://db:5433/orders": no user, no password, no options. Error CONFIG.INVALID when `url`
/// is not a connection string.
Result<std::string> public_name(const std::string& url);

/// The parameters of an open connection, including its password, as key=value pairs.
Result<std::string> url_of(PGconn* connection);

}  // namespace sagabox::postgres
