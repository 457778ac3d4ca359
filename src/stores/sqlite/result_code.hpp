#pragma once

#include <sagabox/error.hpp>

#include <sqlite3.h>

#include <string_view>

namespace sagabox::sqlite {

/// Our error code for an extended result code of SQLite. `text` is SQLite's message, which
/// distinguishes missing tables from other errors.
Code code_of_result(int result, std::string_view text) noexcept;

/// The error of the last call on this connection, which failed with `result`. Never quotes data.
Error error_of(sqlite3* connection, int result);

}  // namespace sagabox::sqlite
