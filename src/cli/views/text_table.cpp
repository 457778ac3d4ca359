#include "cli/views/text_table.hpp"

#include "core/text.hpp"

#include <algorithm>

namespace sagabox::cli {
namespace {

std::string padded(const std::string& text, std::size_t width, TextTable::Side side) {
  const std::string fill(width - text_facts(text).characters, ' ');
  return side == TextTable::Side::left ? text + fill : fill + text;
}

}  // namespace

std::vector<Line> TextTable::lines(const std::string& indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t at = 0; at < columns_.size(); ++at) {
    auto width = text_facts(columns_[at].heading).characters;
    for (const auto& row : rows_) width = std::max(width, text_facts(row[at].text).characters);
    widths.push_back(width);
  }
  const auto row_of = [&](const auto& cell_at) {
    Line line(indent);
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      const Cell cell = cell_at(at);
      const bool last = at + 1 == columns_.size() && columns_[at].side == Side::left;
      // Ids get copied, and a number that is cut would be another number.
      const bool gives_way = at > 0 && columns_[at].side == Side::left;
      line.add_cell(last ? cell.text : padded(cell.text, widths[at], columns_[at].side), cell.style,
                    widths[at], gives_way);
      if (at + 1 < columns_.size()) line.add("  ");
    }
    return line;
  };
  std::vector<Line> lines{
      row_of([&](std::size_t at) { return Cell{columns_[at].heading, Style::faint}; })};
  for (const auto& row : rows_) lines.push_back(row_of([&](std::size_t at) { return row[at]; }));
  return lines;
}

}  // namespace sagabox::cli
