#include "stores/sql/statement.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace sagabox::sql {
namespace {

constexpr std::string_view name_mark = "-- name:";

Error bad_sql(const File& file, std::size_t line, const std::string& why) {
  return {Code::unknown_internal, std::string(file.name) + ":" + std::to_string(line) + ": " + why};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string hash_text(std::string_view text) {
  std::array<char, 16> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), stable_hash(text), 16);
  return {digits.data(), end.ptr};
}

/// Collects the sections of one file, line by line.
class Reader {
 public:
  struct Section {
    std::size_t line = 0;
    std::string name;
    std::vector<std::string> statements;
  };

  explicit Reader(const File& file) : file_(file) {}

  Result<std::vector<Section>> read() {
    for (auto rest = file_.text; !rest.empty();) {
      const auto end = rest.find('\n');
      ++line_;
      if (auto done = take(rest.substr(0, end)); !done.ok()) return done.error();
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    if (auto ended = end_section(); !ended.ok()) return ended.error();
    return std::move(sections_);
  }

 private:
  Status take(std::string_view whole) {
    const auto line = trimmed(whole);
    if (line.starts_with(name_mark)) return begin_section(line);
    if (line.empty() || line.starts_with("--")) return {};
    if (sections_.empty()) return bad_sql(file_, line_, "give the statement a name: -- name: …");
    if (!open_.empty()) open_ += '\n';
    open_ += whole.substr(0, whole.find_last_not_of(" \t\r") + 1);
    if (!line.ends_with(';')) return {};
    open_.pop_back();
    sections_.back().statements.push_back(std::exchange(open_, {}));
    return {};
  }

  Status begin_section(std::string_view line) {
    if (auto ended = end_section(); !ended.ok()) return ended;
    const auto name = trimmed(line.substr(name_mark.size()));
    if (!is_name(name)) {
      return bad_sql(file_, line_, "a name has only lower-case letters, digits and _");
    }
    sections_.push_back({line_, std::string(name), {}});
    return {};
  }

  Status end_section() const {
    if (!open_.empty()) return bad_sql(file_, line_, "end the statement with ;");
    if (!sections_.empty() && sections_.back().statements.empty()) {
      return bad_sql(file_, line_, "\"" + sections_.back().name + "\" has no statement");
    }
    return {};
  }

  const File& file_;
  std::size_t line_ = 0;
  std::string open_;  // a statement whose end has not come yet
  std::vector<Section> sections_;
};

std::string list_of(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

Statement::Statement(std::string name, std::string space, const std::vector<std::string>& sql)
    : name_(std::move(name)), space_(std::move(space)) {
  // Servers cut names after 63 characters: the space goes in as a hash.
  const auto unique = "sagabox sql " + name_ + " " + hash_text(space_);
  for (const auto& text : sql) {
    parts_.push_back(
        {parts_.empty() ? unique : unique + " " + std::to_string(parts_.size()), text});
  }
}

Statement Statement::for_table(const TableName& table) const {
  std::vector<std::string> sql;
  for (const auto& part : parts_) sql.push_back(replaced(part.sql, "{table}", table.str()));
  return {name_, space_ + "." + table.str(), sql};
}

Result<Sections> Sections::parse(std::span<const File> files, std::string_view schema) {
  Sections sections;
  for (const auto& file : files) {
    auto read = Reader(file).read();
    if (!read.ok()) return read.error();
    for (auto& [line, name, statements] : *read) {
      for (auto& text : statements) text = replaced(text, "{schema}", schema);
      const auto [place, added] =
          sections.known_.try_emplace(name, Statement(name, std::string(schema), statements));
      if (!added) return bad_sql(file, line, "the name \"" + name + "\" is used twice");
    }
  }
  return sections;
}

Statement Sections::take(const std::string& name) {
  const auto found = known_.find(name);
  if (found == known_.end()) {
    missing_.insert(name);
    return {};
  }
  taken_.insert(name);
  return found->second;
}

Status Sections::check() const {
  if (!missing_.empty()) {
    return Error{Code::unknown_internal, "no .sql file has: " + list_of(missing_)};
  }
  std::set<std::string> unused;
  for (const auto& [name, statement] : known_) {
    if (!taken_.contains(name)) unused.insert(name);
  }
  if (unused.empty()) return {};
  return Error{Code::unknown_internal, "nothing uses these statements: " + list_of(unused)};
}

}  // namespace sagabox::sql
