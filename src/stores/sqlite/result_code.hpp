#pragma once

#include <sagabox/error.hpp>

#include <sqlite3.h>

#include <string_view>

namespace sagabox::sqlite {

/// What an extended result code of SQLite means to us. `text` is SQLite's own, which tells missing
/// tables from other mistakes.
Code code_of_result(int result, std::string_view text) noexcept;

/// The last call on this connection failed with `result`. Never quotes data.
Error error_of(sqlite3* connection, int result);

}  // namespace sagabox::sqlite
