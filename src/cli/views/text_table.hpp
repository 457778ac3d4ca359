#pragma once

#include "cli/terminal.hpp"

#include <string>
#include <vector>

namespace sagabox::cli {

struct Cell {
  std::string text{};
  Style style = Style::plain;
};

/// Rows in columns, each as wide as its widest cell; the last is not padded, so that a narrow
/// window does not cut other columns.
class TextTable {
 public:
  enum class Side : std::uint8_t { left, right };
  struct Column {
    std::string heading;
    Side side = Side::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell for each column.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  /// Includes headings; each line begins with `indent`.
  [[nodiscard]] std::vector<Line> lines(const std::string& indent = {}) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace sagabox::cli
