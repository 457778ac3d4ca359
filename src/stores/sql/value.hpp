#pragma once

#include <sagabox/id.hpp>
#include <sagabox/time.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace sagabox::sql {

/// Bytes that need not be text.
struct Bytes {
  Bytes() = default;
  explicit Bytes(std::string_view bytes) : data(bytes) {}
  std::string data;
};

/// One value that is bound to a parameter of a statement. It has a type even when it is NULL. A
/// list is an array on PostgreSQL and JSON text elsewhere (`json_each`). If a database has no array
/// of bytes and one of the lists has bytes, the statement runs once for each element, with the
/// elements in place of the lists; all lists have the same length then.
class Value {
 public:
  template <class T>
  struct Null {};
  using Data = std::variant<bool, std::int64_t, std::string, Bytes, WallTime,  //
                            Null<bool>, Null<std::int64_t>, Null<std::string>, Null<Bytes>,
                            Null<WallTime>,  //
                            std::vector<std::int64_t>, std::vector<std::string>, std::vector<Bytes>,
                            std::vector<WallTime>>;

  // Implicit, so that a call reads `run(statement, {table.str(), note, now})`.
  template <std::same_as<bool> Bool>
  Value(Bool value) : data_(value) {}
  /// Sequences and counts never exceed the maximum of an int64.
  template <std::integral Int>
    requires(!std::same_as<Int, bool>)
  Value(Int value) : data_(int64_of(value)) {}
  Value(std::string text) : data_(std::move(text)) {}
  Value(std::string_view text) : data_(std::string(text)) {}
  Value(const char* text) : data_(std::string(text)) {}
  Value(Bytes bytes) : data_(std::move(bytes)) {}
  Value(WallTime time) : data_(time) {}
  Value(Sequence sequence) : Value(sequence.value) {}
  template <class T>
  Value(const std::optional<T>& value) : data_(value ? Value(*value).data_ : null_of<T>()) {}
  Value(std::vector<std::int64_t> list) : data_(std::move(list)) {}
  Value(std::vector<std::string> list) : data_(std::move(list)) {}
  Value(std::vector<Bytes> list) : data_(std::move(list)) {}
  Value(std::vector<WallTime> list) : data_(std::move(list)) {}

  [[nodiscard]] const Data& data() const noexcept { return data_; }

 private:
  template <class Int>
  static std::int64_t int64_of(Int value) {
    constexpr auto highest = std::numeric_limits<std::int64_t>::max();
    return std::cmp_greater(value, highest) ? highest : static_cast<std::int64_t>(value);
  }
  template <class T>
  static Data null_of() {
    if constexpr (std::same_as<T, bool> || std::same_as<T, Bytes> || std::same_as<T, WallTime>) {
      return Null<T>{};
    } else if constexpr (std::integral<T> || std::same_as<T, Sequence>) {
      return Null<std::int64_t>{};
    } else {
      static_assert(std::convertible_to<T, std::string_view>);
      return Null<std::string>{};
    }
  }

  Data data_;
};

/// One empty value for each element: on a database without arrays of bytes it makes a statement run
/// once for each element, even if no other list has bytes. Matching long lists by their positions
/// in JSON text would take quadratic time.
inline std::vector<Bytes> by_element(std::size_t elements) { return std::vector<Bytes>(elements); }

/// The values of $1, $2 … (?1, ?2 …), in this order. A statement may ignore values that only
/// another database needs.
using Values = std::vector<Value>;

}  // namespace sagabox::sql
