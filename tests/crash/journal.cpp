#include "crash/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace sagabox::crash {
namespace {

constexpr std::array kinds{"held", "failed", "done"};
constexpr std::array ends{"committed", "rolled_back", "in_doubt"};
constexpr const char* line_end = ".";

template <class Enum, std::size_t count>
Enum parsed(const std::array<const char*, count>& names, const std::string& word) {
  for (std::size_t at = 0; at < count; ++at) {
    if (word == names[at]) return static_cast<Enum>(at);
  }
  throw std::runtime_error("journal: unknown word " + word);
}

}  // namespace

Journal::Journal(const std::filesystem::path& file)
    : file_(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), file.string());
}

Journal::~Journal() { close(file_); }

void Journal::append(std::string line) const {
  // Whoever is killed while a write crosses from one page to the next leaves a part of it.
  line.insert(0, 1, '\n');
  line.append(" ").append(line_end).append("\n");
  const auto written = write(file_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    throw std::system_error(errno, std::generic_category(), "journal");
  }
}

std::vector<std::vector<std::string>> read_journal(const std::filesystem::path& file) {
  std::ifstream in(file);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  std::vector<std::vector<std::string>> lines;
  std::size_t from = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', from)) {
    std::vector<std::string> words;
    while (from < end) {
      const auto space = std::min(text.find(' ', from), end);
      words.push_back(text.substr(from, space - from));
      from = space + 1;
    }
    from = end + 1;
    if (words.empty() || words.back() != line_end) continue;
    words.pop_back();
    lines.push_back(std::move(words));
  }
  return lines;
}

std::string Delivered::line() const {
  std::ostringstream out;
  out << kinds[static_cast<std::size_t>(kind)] << ' ' << id << ' ' << sequence << ' ' << shard
      << ' ' << epoch << ' ' << attempt << ' ' << process;
  return out.str();
}

std::string Refused::line() const {
  std::ostringstream out;
  out << "refused " << shard << ' ' << epoch << ' ' << process;
  return out.str();
}

RelayNotes read_relay_notes(const std::filesystem::path& file) {
  RelayNotes notes;
  for (const auto& words : read_journal(file)) {
    if (words.at(0) == "refused") {
      notes.refused.push_back({.shard = static_cast<std::uint16_t>(std::stoul(words.at(1))),
                               .epoch = std::stoull(words.at(2)),
                               .process = std::stoi(words.at(3))});
    } else if (words[0] == "figure") {
      notes.figures[words.at(1)] += std::stod(words.at(2));
    } else {
      notes.delivered.push_back({.kind = parsed<Delivered::Kind>(kinds, words[0]),
                                 .id = words.at(1),
                                 .sequence = std::stoull(words.at(2)),
                                 .shard = static_cast<std::uint16_t>(std::stoul(words.at(3))),
                                 .epoch = std::stoull(words.at(4)),
                                 .attempt = static_cast<std::uint32_t>(std::stoul(words.at(5))),
                                 .process = std::stoi(words.at(6))});
    }
  }
  return notes;
}

std::string promise_line(End end, const std::vector<std::string>& ids) {
  std::string line = ends[static_cast<std::size_t>(end)];
  for (const auto& id : ids) line += " " + id;
  return line;
}

std::vector<Promise> read_promises(const std::filesystem::path& file) {
  std::vector<Promise> promises;
  for (const auto& words : read_journal(file)) {
    const auto end = parsed<End>(ends, words.at(0));
    for (std::size_t at = 1; at < words.size(); ++at) promises.push_back({words[at], end});
  }
  return promises;
}

}  // namespace sagabox::crash
