#pragma once

#include "stores/sqlite/insert.hpp"

#include <sagabox/message.hpp>
#include <sagabox/result.hpp>

#include <map>
#include <memory>

namespace sagabox::sqlite {

/// What we remember of a borrowed connection: statements prepared on it, so that they need not be
/// prepared for every transaction. Forgotten when the connection is closed.
struct Acquaintance {
  explicit Acquaintance(sqlite3* connection) : link(connection) {}

  /// They outlive it.
  std::map<TableName, const InsertStatements*> statements;
  Link link;
  /// Whether SQLite will tell us that the connection is to be closed.
  bool will_hear = false;
};

/// The one of this connection, made when it is met for the first time.
Result<std::shared_ptr<Acquaintance>> acquaintance_of(sqlite3* connection);

}  // namespace sagabox::sqlite
