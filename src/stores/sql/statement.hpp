#pragma once

#include <sagabox/message.hpp>
#include <sagabox/result.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// The SQL of a database. Each database has a folder `sql/` of .sql files, which are built into the
/// library. A file has this form:
///
///     -- What these statements are for.
///
///     -- name: pause
///     -- $1 outbox, $2 topic, $3 actor. No row if it is paused already.
///     INSERT INTO "{schema}".pause …
///     RETURNING topic;
///
/// `{schema}` and `{table}` stand for names made of letters, digits and _, `{scope}` for the scope
/// of an outbox's owners. To run a statement in psql or sqlite3, replace them. A section has one
/// statement or several, each ending with `;` at the end of a line. They run in turn with the same
/// values, and the answer is that of the last one that returns rows. Comments are removed. Quoted
/// text ('…', E'…', "…", $tag$…$tag$) is not changed.
namespace sagabox::sql {

/// One statement as one would type it. The name is unique on a connection, also if the connection
/// is used with several schemas: statements are prepared under it.
struct Part {
  std::string name;
  std::string sql;
};

/// A named section of a .sql file.
class Statement {
 public:
  Statement() = default;
  /// `space` is the namespace that makes the names unique.
  Statement(std::string name, std::string space, const std::vector<std::string>& sql);

  [[nodiscard]] std::span<const Part> parts() const noexcept { return parts_; }
  /// For a section that has one statement.
  [[nodiscard]] const Part& only() const;
  /// The statement with the outbox's name in place of `{table}`, and its scope in place of
  /// `{scope}`.
  [[nodiscard]] Statement for_table(const TableName& table) const;

 private:
  std::string name_;
  std::string space_;
  std::vector<Part> parts_;
};

struct File {
  std::string_view name;
  std::string_view text;
};

/// All named sections of a database's files. Each role takes those it needs once; afterwards
/// `check` finds mismatches, so that a wrong name is reported when a store is opened.
class Sections {
 public:
  /// Error if a file cannot be read as above, or a name occurs twice.
  static Result<Sections> parse(std::span<const File> files, std::string_view schema = {});

  /// An unknown name returns an empty statement, and makes `check` fail.
  Statement take(const std::string& name);
  /// A statement for native code: if the section has several statements, `check` fails.
  Statement take_only(const std::string& name);
  /// Error if a name was taken that does not exist, or a section exists that was not taken.
  [[nodiscard]] Status check() const;

 private:
  std::map<std::string, Statement> known_;
  std::set<std::string> taken_;
  std::set<std::string> missing_;
  std::set<std::string> too_many_;  // sections with several statements where one is needed
};

/// Assigns a statement to a member of `PerTable::Statements`.
inline void assign(Statement& member, Statement statement) { member = std::move(statement); }
inline void assign(Part& member, const Statement& statement) { member = statement.only(); }

/// The statements of each outbox, filled in when first requested. `Statements` has `each(call)`,
/// which calls `call(member, name)` for every member and its section: a `Statement`, or for native
/// code a `Part` or another type that has an `assign`. Thread-safe.
template <class Statements>
class PerTable {
 public:
  explicit PerTable(Sections& sections) {
    Statements().each([&](auto& member, const char* name) {
      constexpr bool is_native = !std::is_same_v<decltype(member), Statement&>;
      any_.push_back(is_native ? sections.take_only(name) : sections.take(name));
    });
  }

  const Statements& of(const TableName& table) {
    const std::lock_guard lock(mutex_);
    auto& known = known_[table];
    if (!known) {
      auto made = std::make_unique<Statements>();
      auto next = any_.begin();
      made->each([&](auto& member, const char*) { assign(member, (next++)->for_table(table)); });
      known = std::move(made);
    }
    return *known;
  }

 private:
  std::vector<Statement> any_;  // in the order of `each`
  std::mutex mutex_;
  std::map<TableName, std::unique_ptr<const Statements>> known_;
};

}  // namespace sagabox::sql
