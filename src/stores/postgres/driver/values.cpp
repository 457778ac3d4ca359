#include "stores/postgres/driver/values.hpp"

#include <array>
#include <cassert>
#include <charconv>
#include <chrono>
#include <limits>
#include <type_traits>

namespace sagabox::postgres {
namespace {

/// Timestamps are microseconds since this time.
constexpr WallTime epoch{std::chrono::sys_days{std::chrono::year{2000} / 1 / 1}};
constexpr Oid array_of(Type element) {
  switch (element) {
    case Type::boolean:
      return 1000;
    case Type::bytea:
      return 1001;
    case Type::int2:
      return 1005;
    case Type::int4:
      return 1007;
    case Type::text:
      return 1009;
    case Type::int8:
      return 1016;
    case Type::timestamptz:
      return 1185;
  }
  return 0;
}

std::int64_t wire_time(WallTime time) { return (time - epoch).count(); }

template <class Int>
Int from_wire(std::string_view wire) {
  assert(wire.size() == sizeof(Int));
  std::make_unsigned_t<Int> value = 0;
  for (const char byte : wire) {
    value = static_cast<std::make_unsigned_t<Int>>((std::uint64_t{value} << 8) |
                                                   static_cast<unsigned char>(byte));
  }
  return static_cast<Int>(value);
}

WallTime time_of(std::int64_t wire) {
  if (wire == std::numeric_limits<std::int64_t>::min()) return WallTime::min();
  if (wire == std::numeric_limits<std::int64_t>::max()) return WallTime::max();
  return epoch + std::chrono::microseconds(wire);
}

}  // namespace

std::string_view sql_name(Type type) noexcept {
  switch (type) {
    case Type::boolean:
      return "boolean";
    case Type::bytea:
      return "pg_catalog.bytea";
    case Type::int8:
      return "bigint";
    case Type::int2:
      return "smallint";
    case Type::int4:
      return "integer";
    case Type::text:
      return "pg_catalog.text";
    case Type::timestamptz:
      return "pg_catalog.timestamptz";
  }
  return "";
}

const int* Params::formats() noexcept {
  static constexpr auto all_binary = [] {
    std::array<int, count_max> formats{};
    formats.fill(1);
    return formats;
  }();
  return all_binary.data();
}

template <class Int>
void Params::put(Int value) {
  const auto bits = static_cast<std::make_unsigned_t<Int>>(value);
  std::array<char, sizeof(Int)> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(static_cast<unsigned char>(bits >> (8 * (bytes.size() - 1 - i))));
  }
  buffer_.append(bytes.data(), bytes.size());
}

void Params::begin(Oid type) {
  assert(count_ < count_max);
  types_[count_] = type;
  offsets_[count_] = buffer_.size();
  ++count_;
}

void Params::end() {
  lengths_[count_ - 1] = static_cast<int>(buffer_.size() - offsets_[count_ - 1]);
}

Params& Params::boolean(bool value) {
  begin(static_cast<Oid>(Type::boolean));
  buffer_.push_back(value ? '\1' : '\0');
  end();
  return *this;
}

Params& Params::int2(std::int16_t value) {
  begin(static_cast<Oid>(Type::int2));
  put(value);
  end();
  return *this;
}

Params& Params::int4(std::int32_t value) {
  begin(static_cast<Oid>(Type::int4));
  put(value);
  end();
  return *this;
}

Params& Params::int8(std::int64_t value) {
  begin(static_cast<Oid>(Type::int8));
  put(value);
  end();
  return *this;
}

Params& Params::text(std::string_view value) {
  begin(static_cast<Oid>(Type::text));
  put_bytes(value);
  end();
  return *this;
}

Params& Params::bytea(std::string_view value) {
  begin(static_cast<Oid>(Type::bytea));
  put_bytes(value);
  end();
  return *this;
}

Params& Params::timestamptz(WallTime value) {
  begin(static_cast<Oid>(Type::timestamptz));
  put(wire_time(value));
  end();
  return *this;
}

Params& Params::microseconds(Duration value) {
  return int8(std::chrono::duration_cast<std::chrono::microseconds>(value).count());
}

Params& Params::null(Type type) {
  begin(static_cast<Oid>(type));
  offsets_[count_ - 1] = is_null;
  return *this;
}

void Params::open_array(Type element, std::size_t count) {
  begin(array_of(element));
  array_at_ = buffer_.size();
  put(std::int32_t{count == 0 ? 0 : 1});  // dimensions
  put(std::int32_t{0});                   // whether there are NULLs
  put(static_cast<std::int32_t>(element));
  if (count == 0) return;
  put(static_cast<std::int32_t>(count));
  put(std::int32_t{1});  // the lower bound is 1
}

void Params::close_array() { end(); }

void Params::put_element(bool value) {
  put(std::int32_t{1});
  buffer_.push_back(value ? '\1' : '\0');
}

void Params::put_element(std::int16_t value) {
  put(std::int32_t{sizeof value});
  put(value);
}

void Params::put_element(std::int32_t value) {
  put(std::int32_t{sizeof value});
  put(value);
}

void Params::put_element(std::int64_t value) {
  put(std::int32_t{sizeof value});
  put(value);
}

void Params::put_element(WallTime value) { put_element(std::int64_t{wire_time(value)}); }

void Params::put_element(std::string_view value) {
  put(static_cast<std::int32_t>(value.size()));
  put_bytes(value);
}

void Params::put_null_element() {
  put(std::int32_t{-1});
  buffer_[array_at_ + 7] = '\1';
}

Params::Values Params::values() const {
  Values values{};
  for (std::size_t at = 0; at < count_; ++at) {
    values[at] = offsets_[at] == is_null ? nullptr : buffer_.data() + offsets_[at];
  }
  return values;
}

std::uint64_t Rows::affected() const {
  const std::string_view text = PQcmdTuples(result_.get());
  std::uint64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

bool Rows::boolean(int row, int column) const {
  return *PQgetvalue(result_.get(), row, column) != '\0';
}

std::int16_t Rows::int2(int row, int column) const {
  return from_wire<std::int16_t>(text(row, column));
}

std::int32_t Rows::int4(int row, int column) const {
  return from_wire<std::int32_t>(text(row, column));
}

std::int64_t Rows::int8(int row, int column) const {
  return from_wire<std::int64_t>(text(row, column));
}

WallTime Rows::timestamptz(int row, int column) const { return time_of(int8(row, column)); }

Composite::Composite(std::string_view bytes) {
  constexpr std::size_t word = sizeof(std::int32_t);
  const auto next = [&](std::size_t size) {
    const auto taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return taken;
  };
  const auto count = static_cast<std::size_t>(from_wire<std::int32_t>(next(word)));
  assert(count <= fields_max);
  for (std::size_t field = 0; field < count; ++field) {
    next(word);  // its type
    const auto size = from_wire<std::int32_t>(next(word));
    if (size >= 0) fields_[field] = next(static_cast<std::size_t>(size));
  }
}

bool Composite::boolean(int field) const { return text(field).front() != '\0'; }

std::int16_t Composite::int2(int field) const { return from_wire<std::int16_t>(text(field)); }

std::int32_t Composite::int4(int field) const { return from_wire<std::int32_t>(text(field)); }
std::int64_t Composite::int8(int field) const { return from_wire<std::int64_t>(text(field)); }

std::optional<WallTime> Composite::maybe_timestamptz(int field) const {
  if (is_null(field)) return std::nullopt;
  return time_of(from_wire<std::int64_t>(text(field)));
}

}  // namespace sagabox::postgres
