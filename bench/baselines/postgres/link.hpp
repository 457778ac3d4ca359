#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// PostgreSQL by hand: libpq, prepared statements, binary values, pipeline mode.
namespace sagabox::bench::by_hand {

/// The values of one call, in binary, in the order of $1, $2 …
class Values {
 public:
  Values& int8(std::int64_t value);
  Values& text(std::string_view value);
  Values& int2s(const std::vector<std::int16_t>& values);
  Values& int8s(const std::vector<std::int64_t>& values);
  Values& texts(const std::vector<std::string>& values);
  Values& nullable_texts(const std::vector<std::string>& values);  ///< NULL where empty
  Values& byteas(const std::vector<std::string>& values);
  Values& null();

  [[nodiscard]] const std::vector<std::string>& bytes() const { return bytes_; }
  [[nodiscard]] bool is_null(std::size_t at) const { return nulls_[at]; }

 private:
  void add(std::string bytes) {
    bytes_.push_back(std::move(bytes));
    nulls_.push_back(false);
  }
  std::vector<std::string> bytes_;
  std::vector<bool> nulls_;
};

struct ClearResult {
  void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, ClearResult>;

std::int64_t int8_of(const PGresult* answer, int row, int column);
std::int16_t int2_of(const PGresult* answer, int row, int column);
std::int64_t rows_changed(PGresult* answer);

/// One connection. What fails throws std::runtime_error.
class Link {
 public:
  explicit Link(const std::string& url);

  /// As one types it; the first value of the last statement.
  std::string sql(const std::string& text);
  void prepare(const std::string& name, const std::string& text);

  /// One statement, one round trip.
  Answer call(const std::string& name, const Values& values);

  /// From here on `send` and `receive` instead of the others: what was sent runs in that order,
  /// each a transaction of its own.
  void begin_pipeline();
  void send(const std::string& name, const Values& values);
  Answer receive();

  [[nodiscard]] PGconn* handle() const { return connection_.get(); }

 private:
  struct Finish {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
  };
  void submit(const std::string& name, const Values& values);
  Answer checked(PGresult* result);

  std::unique_ptr<PGconn, Finish> connection_;
};

}  // namespace sagabox::bench::by_hand
