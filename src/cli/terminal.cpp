#include "cli/terminal.hpp"

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

/// Takes up to `columns_max` characters of UTF-8 and lowers it by as many.
std::string_view cut(std::string_view text, std::size_t& columns_max) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (continues_character(text[at])) continue;
    if (columns_max == 0) return text.substr(0, at);
    --columns_max;
  }
  return text;
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
  pieces_.push_back({std::string(text), style});
  return *this;
}

std::string Line::render(std::size_t columns_max, bool colour) const {
  std::string out;
  for (const auto& piece : pieces_) {
    const auto text = cut(piece.text, columns_max);
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
  // One less: the cursor stands below the block.
  return (known ? window.ws_row : rows_usual) - 1;
}

void Terminal::write(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stream_);
  (void)std::fflush(stream_);
}

void Terminal::print(const Line& line) {
  drawn_ = 0;
  write(line.render(std::numeric_limits<std::size_t>::max(), colour_) + "\n");
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
