#pragma once

#include "stores/postgres/link.hpp"

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
  /// sequential scan when it is full.
  bool custom_plans = true;
  const Clock* clock = &system_clock();
};

/// A connection of our own. Not thread-safe. Statements outside `begin` and `commit` are a
/// transaction each.
class Connection {
 public:
  /// To a primary: a replica is an error.
  static Result<std::unique_ptr<Connection>> open(const ConnectSettings& settings);

  /// One round trip. `Effect::commits` for whatever writes outside a transaction.
  Result<Rows> run(const Statement& statement, const Params& params, Effect effect) {
    return link_.run(statement, params, effect);
  }
  /// Several in one round trip; outside a transaction they are one. See `Link::run`.
  Result<std::vector<Rows>> run(std::span<const Call> calls, Effect effect) {
    return link_.run(calls, effect);
  }
  Result<std::vector<Rows>> run(std::span<const Call> calls, Effect effect,
                                const Link::Watch& watch) {
    return link_.run(calls, effect, watch);
  }

  /// Several statements as in a file, without parameters: for the schema only.
  Status script(const std::string& sql);
  /// The same; the first value of the last one, as text.
  Result<std::string> script_value(const std::string& sql);

  Status begin();
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
  /// Of the server, as it was when we connected: a primary keeps its timeline while it runs.
  [[nodiscard]] Timeline timeline() const noexcept { return timeline_; }
  [[nodiscard]] Link& link() noexcept { return link_; }
  [[nodiscard]] PGconn* handle() const noexcept { return handle_.get(); }

 private:
  struct Finish {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
  };
  using Handle = std::unique_ptr<PGconn, Finish>;

  Connection(Handle handle, const ConnectSettings& settings);
  Status set_up(const ConnectSettings& settings);

  Handle handle_;
  PreparedNames prepared_;
  Link link_;
  Timeline timeline_{};
};

/// "postgres://db:5433/orders": no user, no password, no options. Error CONFIG.INVALID when `url`
/// is not a connection string.
Result<std::string> public_name(const std::string& url);

}  // namespace sagabox::postgres
