#pragma once

#include "stores/sqlite/insert.hpp"

#include <sagabox/message.hpp>
#include <sagabox/result.hpp>

#include <map>
#include <memory>

namespace sagabox::sqlite {

/// The state kept for a borrowed connection: its prepared statements, so that they need not be
/// prepared for every transaction. Dropped when the connection is closed.
struct ConnectionState {
  explicit ConnectionState(sqlite3* connection) : link(connection) {}

  /// The statements outlive this.
  std::map<TableName, const InsertStatements*> statements;
  Link link;
  /// Whether SQLite will notify us before the connection is closed.
  bool told_of_close = false;
};

/// Returns the state of this connection, and makes it on first use.
Result<std::shared_ptr<ConnectionState>> connection_state_of(sqlite3* connection);

}  // namespace sagabox::sqlite
