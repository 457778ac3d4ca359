#include "stores/sql/statement.hpp"

#include "core/scopes.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <cassert>
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

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Removes the comments from SQL, line by line, and recognizes quotes: 'text', E'text', "name" and
/// $tag$text$tag$.
class Scanner {
 public:
  /// Returns the line without its comments.
  std::string take(std::string_view line) {
    std::string code;
    for (rest_ = line; !rest_.empty();) {
      if (is_open()) {
        take_quoted(code);
      } else if (rest_.starts_with("--")) {
        break;
      } else if (rest_.starts_with("/*")) {
        close_ = "*/";
        rest_.remove_prefix(close_.size());
        code += ' ';
      } else {
        open_quote(code);
        move(code, close_.empty() ? 1 : close_.size());
      }
    }
    return code;
  }
  /// True inside a quote or a comment of several lines.
  [[nodiscard]] bool is_open() const noexcept { return !close_.empty(); }

 private:
  void move(std::string& code, std::size_t count) {
    code += rest_.substr(0, count);
    rest_.remove_prefix(count);
  }

  /// Opens a quote if one begins here. A quote ends with the text that it begins with.
  void open_quote(std::string_view before) {
    const bool in_word = !before.empty() && is_word(before.back());
    if (rest_.front() == '\'' || rest_.front() == '"') {
      close_ = rest_.front();
      escapes_ = in_word && (before.back() == 'E' || before.back() == 'e') &&
                 (before.size() == 1 || !is_word(before[before.size() - 2]));
    } else if (rest_.front() == '$' && !in_word) {
      const auto end = std::find_if_not(rest_.begin() + 1, rest_.end(), is_word);
      const bool is_parameter = rest_.size() > 1 && rest_[1] >= '0' && rest_[1] <= '9';
      if (end != rest_.end() && *end == '$' && !is_parameter) close_.assign(rest_.begin(), end + 1);
      escapes_ = false;
    }
  }

  /// Takes text to the end of the quote or of the line. A doubled quote within a text is treated as
  /// two texts.
  void take_quoted(std::string& code) {
    std::size_t end = 0;
    while (end < rest_.size() && !rest_.substr(end).starts_with(close_)) {
      end += escapes_ && rest_[end] == '\\' ? 2 : 1;
    }
    const bool closed = end < rest_.size();
    const auto size = std::min(rest_.size(), closed ? end + close_.size() : end);
    if (close_ == "*/") {
      rest_.remove_prefix(size);
    } else {
      move(code, size);
    }
    if (closed) close_.clear();
  }

  std::string_view rest_;
  std::string close_;     // ends the open quote or comment
  bool escapes_ = false;  // a backslash escapes the next character
};

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
    const bool quoted = scanner_.is_open();
    const auto line = trimmed(whole);
    if (!quoted && line.starts_with(name_mark)) return begin_section(line);
    auto code = scanner_.take(whole);
    if (!scanner_.is_open()) code.erase(code.find_last_not_of(" \t\r") + 1);
    if (!quoted && code.empty()) return {};
    if (sections_.empty()) return bad_sql(file_, line_, "give the statement a name: -- name: …");
    if (!open_.empty()) open_ += '\n';
    open_ += code;
    if (scanner_.is_open() || !code.ends_with(';')) return {};
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
    if (scanner_.is_open()) return bad_sql(file_, line_, "a quote or a comment is not closed");
    if (!open_.empty()) return bad_sql(file_, line_, "end the statement with ;");
    if (!sections_.empty() && sections_.back().statements.empty()) {
      return bad_sql(file_, line_, "\"" + sections_.back().name + "\" has no statement");
    }
    return {};
  }

  const File& file_;
  std::size_t line_ = 0;
  Scanner scanner_;
  std::string open_;  // a statement whose end was not reached yet
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
  // Servers cut names after 63 characters, so the space is added as a hash.
  const auto unique = "sagabox sql " + name_ + " " + hash_text(space_);
  for (const auto& text : sql) {
    parts_.push_back(
        {parts_.empty() ? unique : unique + " " + std::to_string(parts_.size()), text});
  }
}

const Part& Statement::only() const {
  assert(parts_.size() == 1);
  return parts_.front();
}

Statement Statement::for_table(const TableName& table) const {
  std::vector<std::string> sql;
  const auto scope = outbox_scope(table);
  for (const auto& part : parts_) {
    sql.push_back(replaced(replaced(part.sql, "{table}", table.str()), "{scope}", scope));
  }
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

Statement Sections::take_only(const std::string& name) {
  auto statement = take(name);
  if (statement.parts().size() > 1) too_many_.insert(name);
  return statement;
}

Status Sections::check() const {
  if (!missing_.empty()) {
    return Error{Code::unknown_internal, "no .sql file has: " + list_of(missing_)};
  }
  if (!too_many_.empty()) {
    return Error{Code::unknown_internal,
                 "these must have one statement each: " + list_of(too_many_)};
  }
  std::set<std::string> unused;
  for (const auto& [name, statement] : known_) {
    if (!taken_.contains(name)) unused.insert(name);
  }
  if (unused.empty()) return {};
  return Error{Code::unknown_internal, "nothing uses these statements: " + list_of(unused)};
}

}  // namespace sagabox::sql
