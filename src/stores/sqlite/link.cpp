#include "stores/sqlite/link.hpp"

#include "stores/sqlite/result_code.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::sqlite {

Run::Run(Run&& other) noexcept
    : connection_(other.connection_),
      statement_(std::exchange(other.statement_, nullptr)),
      result_(other.result_),
      at_(other.at_) {}

Run& Run::bound(int result) {
  if (result_ == SQLITE_OK) result_ = result;
  return *this;
}

Run& Run::with(std::string_view text) {
  // A null pointer would be bound as NULL.
  const char* data = text.data() == nullptr ? "" : text.data();
  return bound(
      sqlite3_bind_text64(statement_, ++at_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

Run& Run::with_blob(std::string_view bytes) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  return bound(sqlite3_bind_blob64(statement_, ++at_, data, bytes.size(), SQLITE_STATIC));
}

Run& Run::with_copy(const std::string& text) {
  return bound(sqlite3_bind_text64(statement_, ++at_, text.data(), text.size(), SQLITE_TRANSIENT,
                                   SQLITE_UTF8));
}

Result<bool> Run::step() {
  if (result_ == SQLITE_OK) {
    const int result = sqlite3_step(statement_);
    if (result == SQLITE_ROW) return true;
    if (result == SQLITE_DONE) return false;
    result_ = result;
  }
  return error_of(connection_, result_);
}

Status Run::finish() {
  for (;;) {
    auto row = step();
    if (!row.ok()) return row.error();
    if (!*row) return {};
  }
}

void Run::reset() noexcept {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  at_ = 0;
}

std::string_view Run::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return data == nullptr ? std::string_view() : std::string_view(data, size(column));
}

std::string_view Run::bytes(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_BLOB) return text(column);
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return data == nullptr ? std::string_view() : std::string_view(data, size(column));
}

void Link::forget_statements() {
  for (const auto& [sql, statement] : prepared_) sqlite3_finalize(statement);
  prepared_.clear();
  for (const auto& [text, statement] : prepared_texts_) sqlite3_finalize(statement);
  prepared_texts_.clear();
}

Run Link::run(const Sql& sql) { return run(prepared_[&sql], sql.text); }

Run Link::run(const std::string& text) { return run(prepared_texts_[text], text); }

Run Link::run(sqlite3_stmt*& statement, const std::string& text) {
  int result = SQLITE_OK;
  if (statement == nullptr) {
    result = sqlite3_prepare_v3(connection_, text.c_str(), static_cast<int>(text.size()),
                                SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  }
  return {connection_, statement, result};
}

Status Link::script(const std::string& sql) {
  const int result = sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return error_of(connection_, sqlite3_extended_errcode(connection_));
  return {};
}

}  // namespace sagabox::sqlite
