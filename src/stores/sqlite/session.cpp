#include "stores/sqlite/session.hpp"

#include "stores/sqlite/unit_of_work.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace sagabox::sqlite {
namespace {

/// Rows that were read to the end, copied because SQLite does not keep them.
class ReadRows final : public sql::Answer {
 public:
  using Cell = std::variant<std::monostate, std::int64_t, std::string>;

  /// Runs to the end and copies the rows.
  Status read(Run& run) {
    columns_ = run.columns();
    for (;;) {
      auto row = run.step();
      if (!row.ok()) return row.error();
      if (!*row) return {};
      ++rows_;
      for (int column = 0; column < columns_; ++column) cells_.push_back(cell_of(run, column));
    }
  }
  [[nodiscard]] bool has_columns() const noexcept { return columns_ > 0; }

  [[nodiscard]] int size() const override { return rows_; }
  [[nodiscard]] bool is_null(int row, int column) const override {
    return std::holds_alternative<std::monostate>(cell(row, column));
  }
  [[nodiscard]] bool boolean(int row, int column) const override {
    return integer(row, column) != 0;
  }
  [[nodiscard]] std::int64_t integer(int row, int column) const override {
    const auto* value = std::get_if<std::int64_t>(&cell(row, column));
    assert(value != nullptr);
    return value == nullptr ? 0 : *value;
  }
  [[nodiscard]] std::string_view text(int row, int column) const override {
    const auto* value = std::get_if<std::string>(&cell(row, column));
    assert(value != nullptr || is_null(row, column));
    return value == nullptr ? std::string_view() : *value;
  }
  [[nodiscard]] WallTime time(int row, int column) const override {
    return WallTime(std::chrono::microseconds(integer(row, column)));
  }

 private:
  static Cell cell_of(const Run& run, int column) {
    const auto value = run.value(column);
    if (value.is_null()) return {};
    if (value.is_integer()) return value.integer();
    return std::string(value.bytes());
  }
  [[nodiscard]] const Cell& cell(int row, int column) const {
    assert(row < rows_ && column < columns_);
    return cells_[static_cast<std::size_t>(row * columns_ + column)];
  }

  int columns_ = 0;
  int rows_ = 0;
  std::vector<Cell> cells_;
};

template <class T>
std::string json_of(const std::vector<T>& list) {
  boost::json::array array;
  array.reserve(list.size());
  for (const auto& item : list) {
    if constexpr (std::same_as<T, WallTime>) {
      array.emplace_back(item.time_since_epoch().count());
    } else {
      array.emplace_back(item);
    }
  }
  return boost::json::serialize(array);
}

/// How often a statement runs with these values: once, or once for each element, see `sql::Value`.
struct Repeats {
  bool by_element = false;
  std::size_t count = 1;
};

Repeats repeats_of(const sql::Values& values) {
  for (const auto& value : values) {
    if (const auto* list = std::get_if<std::vector<sql::Bytes>>(&value.data())) {
      return {true, list->size()};
    }
  }
  return {};
}

/// Binds the next value. `element` is the index in each list; nullopt binds the whole list.
class Binder {
 public:
  Binder(Run& run, std::optional<std::size_t> element) : run_(run), element_(element) {}

  void bind(const sql::Value& value) const {
    std::visit([&](const auto& data) { put(data); }, value.data());
  }

 private:
  void put(bool value) const { run_.with(value); }
  void put(std::int64_t value) const { run_.with(value); }
  void put(const std::string& value) const { run_.with(std::string_view(value)); }
  void put(const sql::Bytes& value) const { run_.with_blob(value.data); }
  void put(WallTime value) const { run_.with(value); }
  template <class T>
  void put(const sql::Value::Null<T>&) const {
    run_.with_null();
  }
  template <class T>
  void put(const std::vector<T>& list) const {
    if (element_) {
      assert(*element_ < list.size());
      put(list[*element_]);
    } else if constexpr (!std::same_as<T, sql::Bytes>) {
      run_.with_copy(json_of(list));
    }
  }

  Run& run_;
  std::optional<std::size_t> element_;
};

Error too_few_values(const sql::Part& part, std::size_t values) {
  return {Code::unknown_internal,
          "\"" + part.name + "\" was given only " + std::to_string(values) + " values"};
}

/// Runs one part with these values, once or for each element.
Result<std::unique_ptr<ReadRows>> run_part(Link& link, const sql::Part& part,
                                           const sql::Values& values) {
  auto rows = std::make_unique<ReadRows>();
  const auto repeats = repeats_of(values);
  for (std::size_t at = 0; at < repeats.count; ++at) {
    auto run = link.run(part.sql);
    const auto wanted = static_cast<std::size_t>(run.parameters());
    if (wanted > values.size()) return too_few_values(part, values.size());
    const Binder binder(run, repeats.by_element ? std::optional(at) : std::nullopt);
    for (std::size_t i = 0; i < wanted; ++i) binder.bind(values[i]);
    if (auto read = rows->read(run); !read.ok()) return read.error();
  }
  return rows;
}

Result<sql::Rows> run_call(Link& link, const sql::Call& call) {
  std::unique_ptr<ReadRows> answer;
  for (const auto& part : call.statement->parts()) {
    auto rows = run_part(link, part, call.values);
    if (!rows.ok()) return rows.error();
    if (answer == nullptr || (*rows)->has_columns()) answer = std::move(*rows);
  }
  assert(answer != nullptr);
  return sql::Rows(std::move(answer));
}

class ReaderSession final : public sql::Session {
 public:
  ReaderSession(Readers::Lease lease, const Clock& clock)
      : lease_(std::move(lease)), session_(lease_->link(), clock) {}
  Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override {
    return session_.run(calls);
  }
  Result<WallTime> now() override { return session_.now(); }

 private:
  Readers::Lease lease_;
  LinkSession session_;
};

class WriterSession final : public sql::OwnedSession {
 public:
  WriterSession(WriteTransaction transaction, const Clock& clock)
      : transaction_(std::move(transaction)), session_(transaction_.connection().link(), clock) {}
  Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override {
    return session_.run(calls);
  }
  Result<WallTime> now() override { return session_.now(); }
  Status commit() override { return transaction_.commit(); }
  Status rollback() override { return transaction_.rollback(); }

 private:
  WriteTransaction transaction_;
  LinkSession session_;
};

/// Takes the writer's turn for each run.
class AutocommitSession final : public sql::Session {
 public:
  AutocommitSession(Writer& writer, const Clock& clock) : writer_(writer), clock_(clock) {}
  Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override {
    return in_transaction(writer_, [&](Connection& connection) {
      return LinkSession(connection.link(), clock_).run(calls);
    });
  }
  Result<WallTime> now() override { return clock_.wall_now(); }

 private:
  Writer& writer_;
  const Clock& clock_;
};

}  // namespace

Result<std::vector<sql::Rows>> LinkSession::run(std::span<const sql::Call> calls) {
  std::vector<sql::Rows> answers;
  answers.reserve(calls.size());
  for (const auto& call : calls) {
    auto rows = run_call(link_, call);
    if (!rows.ok()) return rows.error();
    answers.push_back(std::move(*rows));
  }
  return answers;
}

Result<std::unique_ptr<sql::Session>> SqliteSessions::reader() {
  auto lease = readers_.take();
  if (!lease.ok()) return lease.error();
  return std::unique_ptr<sql::Session>(
      std::make_unique<ReaderSession>(std::move(lease).value(), clock_));
}

Result<std::unique_ptr<sql::Session>> SqliteSessions::autocommit() {
  return std::unique_ptr<sql::Session>(std::make_unique<AutocommitSession>(writer_, clock_));
}

Result<std::unique_ptr<sql::OwnedSession>> SqliteSessions::begin() {
  auto transaction = writer_.begin();
  if (!transaction.ok()) return transaction.error();
  return std::unique_ptr<sql::OwnedSession>(
      std::make_unique<WriterSession>(std::move(transaction).value(), clock_));
}

}  // namespace sagabox::sqlite
