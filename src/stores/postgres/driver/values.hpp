#pragma once

#include <sagabox/time.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::postgres {

/// The types that we send; the numbers are PostgreSQL's own and fixed.
enum class Type : Oid {
  boolean = 16,
  bytea = 17,
  int8 = 20,
  int2 = 21,
  int4 = 23,
  text = 25,
  timestamptz = 1184,
};

/// Sequences and counts are never larger.
inline std::int64_t int8_of(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
}

/// The name of the type in SQL.
std::string_view sql_name(Type type) noexcept;

/// The bound parameters of one call, in binary, so that nothing is quoted or parsed. Each call adds
/// the next of $1, $2 …
class Params {
 public:
  /// No statement has more parameters.
  static constexpr std::size_t count_max = 32;

  /// Reserves memory for an estimated size.
  void reserve(std::size_t bytes) { buffer_.reserve(bytes); }

  Params& boolean(bool value);
  Params& int2(std::int16_t value);
  Params& int4(std::int32_t value);
  Params& int8(std::int64_t value);
  Params& text(std::string_view value);
  Params& bytea(std::string_view value);
  Params& timestamptz(WallTime value);
  /// As microseconds; write `$n * interval '1 microsecond'`.
  Params& microseconds(Duration value);
  Params& null(Type type);
  Params& timestamptz(const std::optional<WallTime>& value) {
    return value ? timestamptz(*value) : null(Type::timestamptz);
  }

  /// One value of that type, or NULL, as for an element of `array`.
  template <class T>
  Params& value(Type type, const T& given) {
    if (is_missing(given)) return null(type);
    begin(static_cast<Oid>(type));
    put_element(given);
    // Each element is preceded by its length.
    offsets_[count_ - 1] += sizeof(std::int32_t);
    end();
    return *this;
  }

  /// One array with an element for each item of `range`; `get(item)` returns what the function for
  /// a single value takes, or an optional of it if elements may be NULL.
  template <class Range, class Get>
  Params& array(Type element, const Range& range, Get&& get) {
    open_array(element, std::size(range));
    for (const auto& item : range) put_element(get(item));
    close_array();
    return *this;
  }

  [[nodiscard]] int count() const noexcept { return static_cast<int>(count_); }
  [[nodiscard]] const Oid* types() const noexcept { return types_.data(); }
  [[nodiscard]] const int* lengths() const noexcept { return lengths_.data(); }
  [[nodiscard]] static const int* formats() noexcept;
  /// Valid until the next parameter is added.
  using Values = std::array<const char*, count_max>;
  [[nodiscard]] Values values() const;

 private:
  static constexpr std::size_t is_null = std::size_t(-1);

  template <class T>
  static bool is_missing(const T&) {
    return false;
  }
  template <class T>
  static bool is_missing(const std::optional<T>& value) {
    return !value.has_value();
  }

  void begin(Oid type);
  void end();
  void open_array(Type element, std::size_t count);
  void close_array();
  template <class Int>
  void put(Int value);
  void put_bytes(std::string_view bytes) { buffer_.append(bytes); }
  void put_element(bool value);
  void put_element(std::int16_t value);
  void put_element(std::int32_t value);
  void put_element(std::int64_t value);
  void put_element(WallTime value);
  void put_element(std::string_view value);
  void put_element(const std::string& value) { put_element(std::string_view(value)); }
  template <class T>
  void put_element(const std::optional<T>& value) {
    if (value) {
      put_element(*value);
    } else {
      put_null_element();
    }
  }
  void put_null_element();

  std::string buffer_;
  std::size_t count_ = 0;
  std::array<Oid, count_max> types_{};
  std::array<std::size_t, count_max> offsets_{};
  std::array<int, count_max> lengths_{};
  std::size_t array_at_ = 0;  // where the open array begins
};

/// One value of a row type, in binary; valid as long as the rows that it comes from. Fields count
/// from 0, and are read like those of `Rows`.
class Composite {
 public:
  static constexpr std::size_t fields_max = 18;
  explicit Composite(std::string_view bytes);

  [[nodiscard]] bool is_null(int field) const noexcept { return text(field).data() == nullptr; }
  [[nodiscard]] bool boolean(int field) const;
  [[nodiscard]] std::int16_t int2(int field) const;
  [[nodiscard]] std::int32_t int4(int field) const;
  [[nodiscard]] std::int64_t int8(int field) const;
  [[nodiscard]] std::string_view text(int field) const noexcept {
    return fields_[static_cast<std::size_t>(field)];
  }
  [[nodiscard]] std::optional<WallTime> maybe_timestamptz(int field) const;

 private:
  std::array<std::string_view, fields_max> fields_{};
};

/// The answer to one statement, in binary. Columns are numbered from 0; asking for a type that the
/// column does not have is a programmer's error.
class Rows {
 public:
  Rows() = default;
  explicit Rows(PGresult* result) : result_(result) {}

  [[nodiscard]] int size() const noexcept { return PQntuples(result_.get()); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// False if the statement never returns rows.
  [[nodiscard]] bool has_columns() const noexcept { return PQnfields(result_.get()) > 0; }
  /// Rows that an INSERT, UPDATE or DELETE changed.
  [[nodiscard]] std::uint64_t affected() const;

  [[nodiscard]] bool is_null(int row, int column) const noexcept {
    return PQgetisnull(result_.get(), row, column) == 1;
  }
  [[nodiscard]] bool boolean(int row, int column) const;
  [[nodiscard]] std::int16_t int2(int row, int column) const;
  [[nodiscard]] std::int32_t int4(int row, int column) const;
  [[nodiscard]] std::int64_t int8(int row, int column) const;
  /// Also reads xid8.
  [[nodiscard]] std::uint64_t uint8(int row, int column) const {
    return static_cast<std::uint64_t>(int8(row, column));
  }
  /// Reads text and bytea; valid as long as the rows are. Empty for NULL.
  [[nodiscard]] std::string_view text(int row, int column) const noexcept {
    return {PQgetvalue(result_.get(), row, column), length(row, column)};
  }
  /// The length of the text; 0 for NULL.
  [[nodiscard]] std::size_t length(int row, int column) const noexcept {
    return static_cast<std::size_t>(PQgetlength(result_.get(), row, column));
  }
  [[nodiscard]] Composite composite(int row, int column) const {
    return Composite(text(row, column));
  }
  /// Returns `WallTime::min()` and `max()` for the infinities.
  [[nodiscard]] WallTime timestamptz(int row, int column) const;
  [[nodiscard]] std::optional<WallTime> maybe_timestamptz(int row, int column) const {
    if (is_null(row, column)) return std::nullopt;
    return timestamptz(row, column);
  }

 private:
  struct Clear {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

}  // namespace sagabox::postgres
