#include "stores/postgres/driver/link.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>

namespace sagabox::postgres {
namespace {

/// Sending must not block: the server may wait for us to read its answers.
class NonBlocking {
 public:
  explicit NonBlocking(PGconn* connection)
      : connection_(connection), before_(PQisnonblocking(connection)) {
    PQsetnonblocking(connection_, 1);
  }
  ~NonBlocking() { PQsetnonblocking(connection_, before_); }
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;

 private:
  PGconn* connection_;
  int before_;
};

/// Also true for a statement that was not run because an earlier one failed.
bool failed(const PGresult* result) {
  const auto status = PQresultStatus(result);
  return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE ||
         status == PGRES_PIPELINE_ABORTED;
}

/// The error was made by libpq, not by the server: the connection cannot be used any more.
bool is_own_error(const PGresult* result) {
  return PQresultStatus(result) == PGRES_FATAL_ERROR &&
         PQresultErrorField(result, PG_DIAG_SQLSTATE) == nullptr;
}

Error busy() {
  return {Code::tx_invalid_state,
          "the connection is busy with another statement; read its results to the end first"};
}

/// The prepared statement does not exist, or exists already.
bool statements_differ(const PGresult* result) {
  const char* field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view sqlstate = field == nullptr ? "" : field;
  return sqlstate == "26000" || sqlstate == "42P05";
}

}  // namespace

Result<Rows> Link::run(const Statement& statement, const Params& params, Effect effect) {
  if (effect == Effect::none && prepared_ != nullptr && prepared_->contains(statement.name)) {
    return run_prepared(statement.name, params);
  }
  const Call call{&statement, &params};
  auto answers = run(std::span(&call, 1), effect);
  if (!answers.ok()) return answers.error();
  return std::move(answers->front());
}

Result<std::vector<Rows>> Link::run(std::span<const Call> calls, Effect effect) {
  std::vector<Rows> answers;
  auto done =
      run(calls, effect, [&](std::size_t, Rows answer) { answers.push_back(std::move(answer)); });
  if (!done.ok()) return done.error();
  return answers;
}

Status Link::run(std::span<const Call> calls, Effect effect, const Take& take) {
  if (PQstatus(connection_) != CONNECTION_OK) return lost_now(Effect::none);
  const NonBlocking nonblocking(connection_);
  if (PQpipelineStatus(connection_) != PQ_PIPELINE_OFF || PQenterPipelineMode(connection_) != 1) {
    return busy();
  }
  auto done = exchange(calls, effect, take);
  if (!lost_ && PQexitPipelineMode(connection_) != 1) lost_ = true;
  return done;
}

/// Most calls are one statement that is prepared already; a pipeline for it would only add cost.
Result<Rows> Link::run_prepared(const std::string& name, const Params& params) {
  if (PQstatus(connection_) != CONNECTION_OK) return lost_now(Effect::none);
  const NonBlocking nonblocking(connection_);
  const auto values = params.values();
  if (PQpipelineStatus(connection_) != PQ_PIPELINE_OFF ||
      PQtransactionStatus(connection_) == PQTRANS_ACTIVE) {
    return busy();
  }
  if (PQsendQueryPrepared(connection_, name.c_str(), params.count(), values.data(),
                          params.lengths(), Params::formats(), 1) != 1) {
    return lost_now(Effect::none);
  }
  const auto deadline = answer_deadline();
  Rows answer;
  std::optional<Error> failure;
  for (;;) {
    auto result = next(deadline, Effect::none);
    if (!result.ok()) return failure ? *failure : result.error();
    if (*result == nullptr) break;
    Rows rows(*result);
    if (is_own_error(*result)) {
      auto error = lost_now(Effect::none);
      return failure ? *failure : error;
    }
    if (!failed(*result)) {
      answer = std::move(rows);
    } else if (!failure) {
      failure = failed_with(*result, {&name, false}, Effect::none);
    }
  }
  if (failure) return *failure;
  return answer;
}

bool Link::send(const Call& call, std::vector<Piece>& sent) {
  const auto& [name, sql] = *call.statement;
  const Params& params = *call.params;
  const auto values = params.values();
  if (prepared_ == nullptr || name.empty()) {
    sent.push_back({&name, false});
    return PQsendQueryParams(connection_, sql.c_str(), params.count(), params.types(),
                             values.data(), params.lengths(), params.formats(), 1) == 1;
  }
  if (!prepared_->contains(name)) {
    if (PQsendPrepare(connection_, name.c_str(), sql.c_str(), params.count(), params.types()) !=
        1) {
      return false;
    }
    // Counts as prepared from here on, so that a statement that occurs twice in a batch is prepared
    // once.
    prepared_->insert(name);
    sent.push_back({&name, true});
  }
  sent.push_back({&name, false});
  return PQsendQueryPrepared(connection_, name.c_str(), params.count(), values.data(),
                             params.lengths(), params.formats(), 1) == 1;
}

Status Link::exchange(std::span<const Call> calls, Effect effect, const Take& take) {
  const auto deadline = answer_deadline();
  std::vector<Piece> sent;
  for (const auto& call : calls) {
    // Without a sync message the server commits nothing.
    if (!send(call, sent)) return lost_now(Effect::none);
  }
  if (PQpipelineSync(connection_) != 1) return lost_now(effect);

  std::size_t answers = 0;
  std::optional<Error> failure;
  for (const auto& piece : sent) {
    auto result = next(deadline, effect);
    // The server's last error says more than the end of the connection.
    if (!result.ok()) return failure ? *failure : result.error();
    Rows rows(*result);
    if (is_own_error(*result)) return failure ? *failure : lost_now(effect);
    if (failed(*result)) {
      auto error = failed_with(*result, piece, effect);
      if (!failure) failure = std::move(error);
    } else if (!piece.prepares) {
      take(answers++, std::move(rows));
    }
    if (auto end = next(deadline, effect); !end.ok()) return failure ? *failure : end.error();
  }
  auto ended = end(deadline, failure ? Effect::none : effect);
  if (failure) return *failure;
  return ended;
}

Error Link::failed_with(const PGresult* result, const Piece& piece, Effect effect) {
  const bool differ = statements_differ(result);
  confused_ = confused_ || differ;
  if (prepared_ != nullptr && (piece.prepares || differ)) prepared_->erase(*piece.name);
  return server_error(result, effect);
}

BootTime Link::answer_deadline() const {
  return limits_.answer_max ? limits_.clock->boot_now() + *limits_.answer_max : BootTime::max();
}

Status Link::end(BootTime deadline, Effect effect) {
  auto sync = next(deadline, effect);
  if (!sync.ok()) return sync.error();
  const Rows first(*sync);
  if (PQresultStatus(*sync) == PGRES_PIPELINE_SYNC) return {};
  // The commit failed. The server's error, if any, precedes the end of the results.
  if (*sync == nullptr || is_own_error(*sync)) return lost_now(effect);
  const auto failure = server_error(*sync, effect);
  for (int rest = 0; rest < 2; ++rest) {
    auto more = next(deadline, effect);
    if (!more.ok()) return failure;
    const Rows ignored(*more);
  }
  return failure;
}

Result<PGresult*> Link::next(BootTime deadline, Effect effect) {
  for (;;) {
    const int unsent = PQflush(connection_);
    if (unsent < 0) return lost_now(effect);
    if (PQisBusy(connection_) == 0) return PQgetResult(connection_);
    if (auto readable = wait(unsent > 0, deadline, effect); !readable.ok()) return readable.error();
    if (PQconsumeInput(connection_) != 1) return lost_now(effect);
  }
}

Status Link::wait(bool to_send, BootTime deadline, Effect effect) {
  pollfd socket{PQsocket(connection_), static_cast<short>(to_send ? POLLIN | POLLOUT : POLLIN), 0};
  for (;;) {
    int milliseconds = -1;
    if (deadline != BootTime::max()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - limits_.clock->boot_now());
      if (left.count() <= 0) {
        lost_ = true;
        return lost_connection("no answer in time", effect);
      }
      milliseconds = static_cast<int>(std::min<std::int64_t>(left.count(), 60'000));
    }
    const int ready = poll(&socket, 1, milliseconds);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return lost_now(effect);
  }
}

Error Link::lost_now(Effect effect) {
  lost_ = true;
  return lost_connection(PQerrorMessage(connection_), effect);
}

}  // namespace sagabox::postgres
