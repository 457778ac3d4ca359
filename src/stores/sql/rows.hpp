#pragma once

#include <sagabox/time.hpp>

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::sql {

/// The answer of one statement, in the format of the database. Rows and columns count from 0.
/// Reading a column as a type that it does not have is a programmer's error.
class Answer {
 public:
  Answer() = default;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  virtual ~Answer() = default;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual bool is_null(int row, int column) const = 0;
  [[nodiscard]] virtual bool boolean(int row, int column) const = 0;
  [[nodiscard]] virtual std::int64_t integer(int row, int column) const = 0;
  /// The value of a text or bytes column; empty for NULL. Valid as long as the answer is.
  [[nodiscard]] virtual std::string_view text(int row, int column) const = 0;
  [[nodiscard]] virtual WallTime time(int row, int column) const = 0;
};

/// One row of an answer, read by the number of the column.
class Row {
 public:
  Row(const Answer& answer, int row) : answer_(&answer), row_(row) {}

  [[nodiscard]] bool is_null(int column) const { return answer_->is_null(row_, column); }
  [[nodiscard]] bool boolean(int column) const { return answer_->boolean(row_, column); }
  [[nodiscard]] std::int64_t integer(int column) const { return answer_->integer(row_, column); }
  [[nodiscard]] std::uint64_t natural(int column) const {
    return static_cast<std::uint64_t>(integer(column));
  }
  [[nodiscard]] std::uint32_t natural32(int column) const {
    return static_cast<std::uint32_t>(integer(column));
  }
  [[nodiscard]] std::string_view text(int column) const { return answer_->text(row_, column); }
  [[nodiscard]] WallTime time(int column) const { return answer_->time(row_, column); }
  [[nodiscard]] std::optional<std::string> maybe_text(int column) const {
    if (is_null(column)) return std::nullopt;
    return std::string(text(column));
  }
  [[nodiscard]] std::optional<std::uint64_t> maybe_natural(int column) const {
    if (is_null(column)) return std::nullopt;
    return natural(column);
  }
  [[nodiscard]] std::optional<WallTime> maybe_time(int column) const {
    if (is_null(column)) return std::nullopt;
    return time(column);
  }

 private:
  const Answer* answer_;
  int row_;
};

/// The rows that a statement returned.
class Rows {
 public:
  explicit Rows(std::unique_ptr<const Answer> answer) : answer_(std::move(answer)) {}

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(answer_->size()); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] Row operator[](std::size_t row) const { return {*answer_, static_cast<int>(row)}; }
  [[nodiscard]] Row front() const { return (*this)[0]; }

  class Iterator {
   public:
    using value_type = Row;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const Answer& answer, int row) : answer_(&answer), row_(row) {}
    Row operator*() const { return {*answer_, row_}; }
    Iterator& operator++() {
      ++row_;
      return *this;
    }
    Iterator operator++(int) { return std::exchange(*this, Iterator(*answer_, row_ + 1)); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Answer* answer_ = nullptr;
    int row_ = 0;
  };
  [[nodiscard]] Iterator begin() const { return {*answer_, 0}; }
  [[nodiscard]] Iterator end() const { return {*answer_, answer_->size()}; }

 private:
  std::unique_ptr<const Answer> answer_;
};

}  // namespace sagabox::sql
