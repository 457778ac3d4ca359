#pragma once

#include "stores/sqlite/insert.hpp"

#include <sagabox/message.hpp>
#include <sagabox/result.hpp>

#include <map>
#include <memory>

namespace sagabox::sqlite {

/// The state kept for a borrowed connection: its prepared statements, so that they need not be
/// prepared for every transaction. Dropped when the connection is closed.
struct Acquaintance {
  explicit Acquaintance(sqlite3* connection) : link(connection) {}

  /// The statements outlive this.
  std::map<TableName, const InsertStatements*> statements;
  Link link;
  /// Whether SQLite will notify us before the connection is closed.
  bool will_hear = false;
};

/// Returns the state of this connection, and makes it on first use.
Result<std::shared_ptr<Acquaintance>> acquaintance_of(sqlite3* connection);

}  // namespace sagabox::sqlite
