#pragma once

#include <sagabox/stores/postgres.hpp>

#include <soci/postgresql/soci-postgresql.h>
#include <soci/soci.h>

#include <memory>
#include <string_view>

/// Write messages in a transaction of SOCI (4.0). Link SOCI and its PostgreSQL backend yourself.
namespace sagabox::postgres {

/// Null if the session is closed or uses another database.
inline PGconn* connection_of(soci::session& session) {
  // Compared by name, because SOCI does not export the type information for a dynamic_cast.
  auto* backend = session.get_backend();
  if (backend == nullptr || backend->get_backend_name() != "postgresql") return nullptr;
  return static_cast<soci::postgresql_session_backend*>(backend)->conn_;
}

/// Call it after `session.begin()`, or while a `soci::transaction` exists. Call `committed()` after
/// its commit to use the fast path. TX.NO_TRANSACTION if no transaction is open.
inline Result<Enlisted> enlist(soci::session& session, std::string_view schema = schema_default) {
  PGconn* connection = connection_of(session);
  if (connection == nullptr) {
    return Error{Code::config_invalid,
                 "this SOCI session is closed, or not one of PostgreSQL; open it with the backend "
                 "soci::postgresql"};
  }
  return enlist(connection, schema);
}

/// Opens a store on the database of this session, over its own connections.
inline Result<std::unique_ptr<Store>> open(soci::session& session, const Options& options = {}) {
  return open(connection_of(session), options);
}

}  // namespace sagabox::postgres
