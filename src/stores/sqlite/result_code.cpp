#include "stores/sqlite/result_code.hpp"

#include "core/error_text.hpp"

#include <array>
#include <string>

namespace sagabox::sqlite {
namespace {

struct Meaning {
  int result;  // an extended code, or a primary one for all of its kind; the first match counts
  Code code;
  std::string_view advice;
};

constexpr std::array meanings{
    Meaning{SQLITE_BUSY_SNAPSHOT, Code::storage_conflict,
            "this transaction read before another one wrote; roll back and begin again with BEGIN "
            "IMMEDIATE"},
    Meaning{SQLITE_BUSY, Code::storage_conflict,
            "another process or connection holds the database's write lock for too long; roll back "
            "and try again, and keep transactions short"},
    Meaning{SQLITE_LOCKED, Code::storage_conflict,
            "another statement of this connection holds the table; finish it and try again"},
    Meaning{SQLITE_SCHEMA, Code::storage_conflict, "the schema changed meanwhile; try again"},
    Meaning{SQLITE_FULL, Code::storage_unavailable,
            "the disk is full, or the database's max_page_count is reached; roll back, make room "
            "and try again"},
    Meaning{SQLITE_READONLY, Code::storage_unavailable,
            "the database file or its folder takes no writes; give this user the right to write "
            "both, and look whether the disk is mounted read-only"},
    Meaning{SQLITE_CANTOPEN, Code::storage_unavailable,
            "the file, or the -wal and -shm files beside it, cannot be opened; look at the path "
            "and the rights of its folder"},
    Meaning{SQLITE_IOERR, Code::storage_unavailable,
            "reading or writing the file failed; look at the disk and the kernel's log"},
    Meaning{SQLITE_NOMEM, Code::storage_unavailable, "out of memory; try again"},
    Meaning{SQLITE_INTERRUPT, Code::storage_unavailable, "somebody interrupted it; try again"},
    Meaning{SQLITE_PROTOCOL, Code::storage_unavailable,
            "too many processes open the file at once; try again"},
    Meaning{SQLITE_NOTADB, Code::config_invalid,
            "the file is not a SQLite database, or an encrypted one; mend the path"},
    Meaning{SQLITE_CORRUPT, Code::unknown_internal,
            "the file is damaged; restore a backup, or save what is left with sqlite3 .recover"},
    Meaning{SQLITE_TOOBIG, Code::schema_validation_failed, "the value is too large"},
    Meaning{
        SQLITE_CONSTRAINT_UNIQUE, Code::schema_validation_failed,
        "another row has this value already, which must be unique; for a message: a pending one "
        "of the tenant has its id"},
    Meaning{SQLITE_CONSTRAINT, Code::schema_validation_failed,
            "the value breaks a rule of the table"},
    Meaning{SQLITE_MISMATCH, Code::schema_validation_failed,
            "the value is of another type than the column"},
};

constexpr int primary(int result) { return result & 0xff; }

bool is_missing(std::string_view text) {
  return text.starts_with("no such table") || text.starts_with("no such column") ||
         text.find("has no column named") != std::string_view::npos ||
         text.starts_with("ON CONFLICT clause does not match");
}

bool is_taken(std::string_view text) {
  return text.ends_with("already exists") || text.starts_with("there is already a");
}

const Meaning* meaning_of(int result) noexcept {
  for (const auto& meaning : meanings) {
    if (meaning.result == result || meaning.result == primary(result)) return &meaning;
  }
  return nullptr;
}

}  // namespace

Code code_of_result(int result, std::string_view text) noexcept {
  if (const Meaning* meaning = meaning_of(result)) return meaning->code;
  return is_missing(text) || is_taken(text) ? Code::config_invalid : Code::unknown_internal;
}

Error error_of(sqlite3* connection, int result) {
  // Borrowed connections may not return extended codes by default.
  if (const int extended = sqlite3_extended_errcode(connection);
      primary(extended) == primary(result)) {
    result = extended;
  }
  const std::string text = clean_error(sqlite3_errmsg(connection));
  std::string what = "SQLite " + std::to_string(result) + ": " + text;
  if (const Meaning* meaning = meaning_of(result)) {
    what += "; " + std::string(meaning->advice);
  } else if (is_missing(text)) {
    what += "; make the tables first, or bring them up to date: prepare() or `sagabox migrate up`";
  } else if (is_taken(text)) {
    what += "; rename what has this name, or choose another name for the outbox";
  }
  return {code_of_result(result, text), std::move(what)};
}

}  // namespace sagabox::sqlite
