#pragma once

#include "cli/terminal.hpp"

#include <span>
#include <string>
#include <vector>

namespace sagabox::cli {

inline std::string plain(const Line& line) { return line.render(1000, false); }

inline std::vector<std::string> plain(std::span<const Line> lines) {
  std::vector<std::string> texts;
  for (const auto& line : lines) texts.push_back(plain(line));
  return texts;
}

}  // namespace sagabox::cli
