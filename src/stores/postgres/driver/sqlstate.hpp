#pragma once

#include <sagabox/error.hpp>

#include <libpq-fe.h>

#include <cstdint>
#include <string_view>

namespace sagabox::postgres {

/// What may have happened when the answer to a call is lost.
enum class Effect : std::uint8_t {
  /// Nothing happened, or it will be rolled back: reads, and statements inside a transaction.
  none,
  /// It may have been committed.
  commits,
};

/// Our error code for a SQLSTATE of PostgreSQL.
Code code_of_sqlstate(std::string_view sqlstate) noexcept;

/// The error of a statement that the server refused. Never quotes data: if the server's text may
/// repeat a value, only the names of column and constraint are kept.
Error server_error(const PGresult* result, Effect effect);

/// The connection broke, or did not answer in time.
Error lost_connection(std::string_view why, Effect effect);

/// The server could not be reached, or refused us.
Error connect_error(const PGconn* connection);

}  // namespace sagabox::postgres
