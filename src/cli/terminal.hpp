#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::cli {

enum class Style : std::uint8_t { plain, strong, faint, good, warning, bad };

/// One line of pieces with different styles. Knows its width, so that it can be cut to the window
/// without cutting an escape sequence.
class Line {
 public:
  Line() = default;
  Line(std::string_view text) { add(text); }    // NOLINT(*-explicit-*)
  Line(const char* text) { add(text); }         // NOLINT(*-explicit-*)
  Line(const std::string& text) { add(text); }  // NOLINT(*-explicit-*)

  Line& add(std::string_view text, Style style = Style::plain);
  /// A cell of a table, already padded, in a column of this width. If a row is wider than the
  /// window, its widest columns that may shrink are cut first, the same in every row of a table.
  Line& add_cell(std::string_view text, Style style, std::size_t width, bool gives_way);
  /// At most `columns_max` characters of it, with escape sequences only if `colour`.
  [[nodiscard]] std::string render(std::size_t columns_max, bool colour) const;
  /// True if it has cells.
  [[nodiscard]] bool is_row() const noexcept;

 private:
  struct Piece {
    std::string text;
    Style style;
    std::size_t width = 0;  ///< of its column; 0: not a cell
    bool gives_way = false;
  };
  /// The width of each piece, so that their sum is at most `columns_max`.
  [[nodiscard]] std::vector<std::size_t> widths(std::size_t columns_max) const;

  std::vector<Piece> pieces_;
};

/// The output of a verb: plain lines anywhere, and on a terminal a block that is redrawn in place.
/// Colours only on a terminal, and never with NO_COLOR set.
class Terminal {
 public:
  /// Standard output, or standard error.
  explicit Terminal(std::FILE* stream);

  /// Whether lines can be redrawn.
  [[nodiscard]] bool interactive() const noexcept { return interactive_; }

  /// Prints a permanent line. A block before it stays above it. A row of a table is cut to the
  /// window, other lines are printed whole.
  void print(const Line& line = {});
  /// Draws the block in place of the previous one, as much of it as fits into the window. Only when
  /// `interactive`.
  void draw(const std::vector<Line>& block);
  /// How many lines of a block fit into the window.
  [[nodiscard]] std::size_t rows() const;

 private:
  [[nodiscard]] std::size_t columns() const;
  void write(std::string_view text);

  std::FILE* stream_;
  bool interactive_;
  bool colour_;
  std::size_t drawn_ = 0;
};

/// 12345678 → "12 345 678".
std::string grouped(std::uint64_t number);

}  // namespace sagabox::cli
