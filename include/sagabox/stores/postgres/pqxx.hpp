#pragma once

#include <sagabox/stores/postgres.hpp>

#include <pqxx/pqxx>

#include <string>
#include <string_view>

/// Write messages in a transaction of libpqxx (6.4). Link libpqxx yourself.
namespace sagabox::postgres {

/// Gives access to the connection of a libpqxx transaction. libpqxx exposes it only to its large
/// objects and to classes derived from them.
class PqxxConnection : pqxx::largeobject {
 public:
  static PGconn* of(const pqxx::dbtransaction& transaction) { return raw_connection(transaction); }
};

/// For `pqxx::work` and every other transaction of libpqxx that can be rolled back, including a
/// subtransaction. Call `committed()` after its `commit()` to use the fast path. TX.NO_TRANSACTION
/// if it has ended.
inline Result<Enlisted> enlist(pqxx::dbtransaction& transaction,
                               std::string_view schema = schema_default) {
  try {
    // libpqxx 6 sends BEGIN with the first statement, so a statement is required here.
    transaction.exec(std::string());
  } catch (const pqxx::usage_error&) {
    return Error{Code::tx_no_transaction,
                 "write() needs an open transaction, and this one of libpqxx has ended, failed or "
                 "is busy with a subtransaction; enlist the one that runs, or begin another"};
  } catch (const pqxx::failure&) {
    return Error{Code::storage_unavailable,
                 "the connection of this libpqxx transaction is broken; begin another"};
  }
  return enlist(PqxxConnection::of(transaction), schema);
}

/// Deleted, because it commits every statement at once: there is no transaction to write into.
Result<Enlisted> enlist(pqxx::nontransaction&, std::string_view = schema_default) = delete;

}  // namespace sagabox::postgres
