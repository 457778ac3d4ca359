#pragma once

#include <sagabox/error.hpp>

#include <optional>
#include <utility>
#include <variant>

namespace sagabox {

/// A value or an Error. `value()` throws Failure; `ok()` and `error()` do not.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(*-explicit-*)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(*-explicit-*)

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& value() & {
    require_ok();
    return std::get<0>(state_);
  }
  const T& value() const& {
    require_ok();
    return std::get<0>(state_);
  }
  T value() && {
    require_ok();
    return std::move(std::get<0>(state_));
  }
  /// Only after `!ok()`.
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

 private:
  void require_ok() const {
    if (!ok()) throw Failure(std::get<1>(state_));
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(*-explicit-*)

  [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  void value() const {
    if (error_) throw Failure(*error_);
  }
  /// Only after `!ok()`.
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace sagabox
