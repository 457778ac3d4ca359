#include "cli/terminal.hpp"

#include "core/text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <span>

namespace sagabox::cli {
namespace {

std::string_view escape_of(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::strong:
      return "\x1b[1m";
    case Style::faint:
      return "\x1b[2m";
    case Style::good:
      return "\x1b[32m";
    case Style::warning:
      return "\x1b[33m";
    case Style::bad:
      return "\x1b[31m";
  }
  return "";
}

constexpr std::string_view style_off = "\x1b[0m";
constexpr std::string_view clear_to_end_of_line = "\x1b[K";
constexpr std::string_view clear_below = "\x1b[J";

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Returns up to `columns_max` characters of UTF-8 and lowers `columns_max` by their number.
std::string_view cut(std::string_view text, std::size_t& columns_max) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (continues_character(text[at])) continue;
    if (columns_max == 0) return text.substr(0, at);
    --columns_max;
  }
  return text;
}

/// Shortens a text to a narrower column: its last character shows that it was cut.
std::string in_columns(std::string_view text, std::size_t columns) {
  const auto end = text.find_last_not_of(' ');
  auto bare = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  const bool fits = text_facts(bare).characters <= columns;
  auto room = fits ? columns : columns - 1;
  std::string out(cut(bare, room));
  if (!fits) out += "…";
  return out + std::string(fits && bare.size() < text.size() ? room : 0, ' ');
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool can_draw(std::FILE* stream) {
  const char* kind = std::getenv("TERM");
  return isatty(fileno(stream)) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

Line& Line::add(std::string_view text, Style style) {
  pieces_.push_back({.text = std::string(text), .style = style});
  return *this;
}

Line& Line::add_cell(std::string_view text, Style style, std::size_t width, bool gives_way) {
  pieces_.push_back(
      {.text = std::string(text), .style = style, .width = width, .gives_way = gives_way});
  return *this;
}

bool Line::is_row() const noexcept {
  return std::ranges::any_of(pieces_, [](const Piece& piece) { return piece.width > 0; });
}

std::vector<std::size_t> Line::widths(std::size_t columns_max) const {
  constexpr std::size_t narrowest = 8;
  std::vector<std::size_t> widths;
  std::size_t all = 0;
  for (const auto& piece : pieces_) {
    widths.push_back(piece.width > 0 ? piece.width : text_facts(piece.text).characters);
    all += widths.back();
  }
  while (all > columns_max) {
    std::size_t widest = pieces_.size();
    for (std::size_t at = 0; at < pieces_.size(); ++at) {
      if (!pieces_[at].gives_way || widths[at] <= narrowest) continue;
      if (widest == pieces_.size() || widths[at] >= widths[widest]) widest = at;
    }
    if (widest == pieces_.size()) break;
    --widths[widest];
    --all;
  }
  return widths;
}

std::string Line::render(std::size_t columns_max, bool colour) const {
  std::string out;
  const auto widths = this->widths(columns_max);
  for (std::size_t at = 0; at < pieces_.size(); ++at) {
    const auto& piece = pieces_[at];
    const bool narrowed = piece.width > widths[at];
    const auto cell = narrowed ? in_columns(piece.text, widths[at]) : piece.text;
    const auto text = cut(cell, columns_max);
    const bool styled = colour && piece.style != Style::plain && !text.empty();
    if (styled) out += escape_of(piece.style);
    out += text;
    if (styled) out += style_off;
  }
  return out;
}

Terminal::Terminal(std::FILE* stream)
    : stream_(stream),
      interactive_(can_draw(stream)),
      colour_(interactive_ && !is_set("NO_COLOR")) {}

std::size_t Terminal::columns() const {
  constexpr std::size_t columns_usual = 80;
  winsize window{};
  const bool known = ioctl(fileno(stream_), TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return known ? window.ws_col : columns_usual;
}

std::size_t Terminal::rows() const {
  constexpr std::size_t rows_usual = 24;
  winsize window{};
  const bool known = ioctl(fileno(stream_), TIOCGWINSZ, &window) == 0 && window.ws_row > 1;
  // One less: the cursor is below the block.
  return (known ? window.ws_row : rows_usual) - 1;
}

void Terminal::write(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stream_);
  (void)std::fflush(stream_);
}

void Terminal::print(const Line& line) {
  drawn_ = 0;
  // A full line wraps in some windows.
  const auto width =
      interactive_ && line.is_row() ? columns() - 1 : std::numeric_limits<std::size_t>::max();
  write(line.render(width, colour_) + "\n");
}

void Terminal::draw(const std::vector<Line>& block) {
  // One less: erasing right of a full line would take its last character.
  const auto width = columns() - 1;
  // The cursor cannot go up to lines that have left the window.
  const auto held = rows();
  const auto lines = std::span(block).first(std::min(block.size(), held));
  std::string out;
  if (drawn_ > 0) out += "\x1b[" + std::to_string(std::min(drawn_, held)) + "A\r";
  for (const auto& line : lines) {
    out += line.render(width, colour_);
    out += clear_to_end_of_line;
    out += '\n';
  }
  out += clear_below;
  drawn_ = lines.size();
  write(out);
}

std::string grouped(std::uint64_t number) {
  auto text = std::to_string(number);
  for (std::size_t from_end = 3; from_end < text.size(); from_end += 4) {
    text.insert(text.size() - from_end, 1, ' ');
  }
  return text;
}

}  // namespace sagabox::cli
