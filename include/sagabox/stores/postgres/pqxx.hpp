#pragma once

#include <sagabox/stores/postgres.hpp>

#include <pqxx/pqxx>

#include <string>
#include <string_view>

/// Write messages in a transaction of libpqxx (6.4). Link libpqxx yourself.
namespace sagabox::postgres {

/// The connection that a transaction of libpqxx runs on. libpqxx hands it only to its large
/// objects, and to what derives from them.
class PqxxConnection : pqxx::largeobject {
 public:
  static PGconn* of(const pqxx::dbtransaction& transaction) { return raw_connection(transaction); }
};

/// `pqxx::work` and every other transaction of libpqxx that can be rolled back, a subtransaction
/// too. Say `committed()` after its `commit()` to use the fast path. Error `TX.NO_TRANSACTION` when
/// it has ended.
inline Result<Enlisted> enlist(pqxx::dbtransaction& transaction,
                               std::string_view schema = schema_default) {
  try {
    // libpqxx 6 sends its BEGIN with the first statement, so there has to be one.
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

/// Commits every statement at once: there is no transaction to write into.
Result<Enlisted> enlist(pqxx::nontransaction&, std::string_view = schema_default) = delete;

}  // namespace sagabox::postgres
