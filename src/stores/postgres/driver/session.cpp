#include "stores/postgres/driver/session.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace sagabox::postgres {
namespace {

/// Rows as libpq stores them.
class KeptRows final : public sql::Answer {
 public:
  explicit KeptRows(Rows rows) : rows_(std::move(rows)) {}

  [[nodiscard]] int size() const override { return view_.size(); }
  [[nodiscard]] bool is_null(int row, int column) const override {
    return view_.is_null(row, column);
  }
  [[nodiscard]] bool boolean(int row, int column) const override {
    return view_.boolean(row, column);
  }
  [[nodiscard]] std::int64_t integer(int row, int column) const override {
    return view_.integer(row, column);
  }
  [[nodiscard]] std::string_view text(int row, int column) const override {
    return view_.text(row, column);
  }
  [[nodiscard]] WallTime time(int row, int column) const override {
    return view_.time(row, column);
  }

 private:
  const Rows rows_;
  const RowsView view_{rows_};
};

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return Type::boolean;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return Type::int8;
  } else if constexpr (std::is_same_v<T, WallTime>) {
    return Type::timestamptz;
  } else if constexpr (std::is_same_v<T, sql::Bytes>) {
    return Type::bytea;
  } else {
    static_assert(std::is_same_v<T, std::string>);
    return Type::text;
  }
}

/// Adds each value to the parameters of a call.
class ParamWriter {
 public:
  explicit ParamWriter(Params& params) : params_(params) {}

  void operator()(bool value) const { params_.boolean(value); }
  void operator()(std::int64_t value) const { params_.int8(value); }
  void operator()(const std::string& value) const { params_.text(value); }
  void operator()(const sql::Bytes& value) const { params_.bytea(value.data); }
  void operator()(WallTime value) const { params_.timestamptz(value); }
  template <class T>
  void operator()(const sql::Value::Null<T>&) const {
    params_.null(type_of<T>());
  }
  template <class T>
  void operator()(const std::vector<T>& list) const {
    params_.array(type_of<T>(), list, [](const T& item) {
      if constexpr (std::is_same_v<T, sql::Bytes>) {
        return std::string_view(item.data);
      } else if constexpr (std::is_same_v<T, std::string>) {
        return std::string_view(item);
      } else {
        return item;
      }
    });
  }

 private:
  Params& params_;
};

Params params_of(const sql::Values& values) {
  Params params;
  for (const auto& value : values) std::visit(ParamWriter(params), value.data());
  return params;
}

/// `run(calls)` takes the calls of all parts, and returns one answer for each.
template <class Run>
Result<std::vector<sql::Rows>> run_parts(std::span<const sql::Call> calls, Run&& run) {
  std::vector<Params> params;
  params.reserve(calls.size());
  std::vector<Call> all;
  for (const auto& call : calls) {
    params.push_back(params_of(call.values));
    for (const auto& part : call.statement->parts()) all.push_back({&part, &params.back()});
  }
  Result<std::vector<Rows>> answers = run(std::span<const Call>(all));
  if (!answers.ok()) return answers.error();
  std::vector<sql::Rows> out;
  auto next = answers->begin();
  for (const auto& call : calls) {
    const auto last = next + static_cast<std::ptrdiff_t>(call.statement->parts().size());
    auto chosen = next;
    for (; next != last; ++next) {
      if (next->has_columns()) chosen = next;
    }
    out.emplace_back(std::make_unique<KeptRows>(std::move(*chosen)));
  }
  return out;
}

const sql::Statement& now_statement() {
  static const sql::Statement statement("now", "", {"SELECT pg_catalog.clock_timestamp()"});
  return statement;
}

Result<WallTime> clock_of(sql::Session& session) {
  auto rows = session.run(now_statement());
  if (!rows.ok()) return rows.error();
  return rows->front().time(0);
}

/// In a transaction or not. BEGIN is sent with the first statements, which saves a round trip.
class PooledSession final : public sql::OwnedSession {
 public:
  using sql::Session::run;
  PooledSession(Pool::Lease lease, Effect effect)
      : lease_(std::move(lease)), session_(*lease_, effect) {}

  Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override {
    if (!std::exchange(begins_, false)) return session_.run(calls);
    return run_parts(calls, [&](std::span<const Call> all) { return lease_->begin_and_run(all); });
  }
  Result<WallTime> now() override { return clock_of(*this); }
  [[nodiscard]] Timeline timeline() const override { return session_.timeline(); }
  void begin() { begins_ = true; }
  Status commit() override { return begins_ ? Status() : lease_->commit(); }
  Status rollback() override { return begins_ ? Status() : lease_->rollback(); }

 private:
  Pool::Lease lease_;
  ConnectionSession session_;
  bool begins_ = false;  ///< sent with the next statements
};

}  // namespace

bool RowsView::is_null(int row, int column) const { return rows_.is_null(row, column); }

bool RowsView::boolean(int row, int column) const {
  assert(rows_.length(row, column) == 1);
  return rows_.boolean(row, column);
}

std::int64_t RowsView::integer(int row, int column) const {
  switch (rows_.length(row, column)) {
    case sizeof(std::int16_t):
      return rows_.int2(row, column);
    case sizeof(std::int32_t):
      return rows_.int4(row, column);
    default:
      return rows_.int8(row, column);
  }
}

std::string_view RowsView::text(int row, int column) const { return rows_.text(row, column); }

WallTime RowsView::time(int row, int column) const { return rows_.timestamptz(row, column); }

Result<std::vector<sql::Rows>> LinkSession::run(std::span<const sql::Call> calls) {
  return run_parts(calls, [&](std::span<const Call> all) { return link_.run(all, Effect::none); });
}

Result<WallTime> LinkSession::now() { return clock_of(*this); }

Result<std::vector<sql::Rows>> ConnectionSession::run(std::span<const sql::Call> calls) {
  return run_parts(calls, [&](std::span<const Call> all) -> Result<std::vector<Rows>> {
    if (all.size() != 1) return connection_.run(all, effect_);
    // A single statement costs less without a pipeline.
    auto rows = connection_.run(*all.front().statement, *all.front().params, effect_);
    if (!rows.ok()) return rows.error();
    std::vector<Rows> answers;
    answers.push_back(std::move(*rows));
    return answers;
  });
}

Result<WallTime> ConnectionSession::now() { return clock_of(*this); }

Result<std::unique_ptr<sql::Session>> PostgresSessions::outside_transactions(Effect effect) {
  auto lease = pool_.take();
  if (!lease.ok()) return lease.error();
  return std::unique_ptr<sql::Session>(
      std::make_unique<PooledSession>(std::move(lease).value(), effect));
}

Result<std::unique_ptr<sql::Session>> PostgresSessions::reader() {
  return outside_transactions(Effect::none);
}

Result<std::unique_ptr<sql::Session>> PostgresSessions::autocommit() {
  return outside_transactions(Effect::commits);
}

Result<std::unique_ptr<sql::OwnedSession>> PostgresSessions::begin() {
  auto lease = pool_.take();
  if (!lease.ok()) return lease.error();
  auto session = std::make_unique<PooledSession>(std::move(lease).value(), Effect::none);
  session->begin();
  return std::unique_ptr<sql::OwnedSession>(std::move(session));
}

}  // namespace sagabox::postgres
