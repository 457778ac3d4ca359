#pragma once

#include "stores/postgres/driver/link.hpp"
#include "stores/postgres/driver/names.hpp"

#include <sagabox/spi/transaction.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace sagabox::postgres {

/// Which insert a call needs.
struct InsertForm {
  unsigned groups = 0;  ///< of columns that do not have their default values
  bool single = true;
  bool fresh = true;  ///< every id was generated just now by the library
  bool told = true;   ///< returns sequence, shard and savepoint

  friend auto operator<=>(const InsertForm&, const InsertForm&) = default;
};

/// One message is sent as values; a batch as arrays, each with an unnest of its own: a single call
/// for all of them would first materialize every array.
/// tests/unit/stores/postgres/outbox/insert_forms.sql has all forms.
std::string insert_sql(const InsertForm& form);

/// The statements that insert messages into one outbox. Thread-safe.
class InsertStatements {
 public:
  InsertStatements(const Names& names, const TableName& table);

  /// The reference stays valid. Pending ids are skipped, unless all are fresh.
  const Statement& insert(const InsertForm& form) const;

  Statement ended;    ///< which ids are dead, quarantined or retained
  Statement pending;  ///< where the pending messages of skipped ids are
  Statement undo;

 private:
  const Names names_;
  const TableName table_;
  mutable std::mutex mutex_;
  mutable std::map<InsertForm, Statement> inserts_;
};

/// The statements of every outbox that was written to. Thread-safe; the references it returns stay
/// valid.
class InsertCache {
 public:
  explicit InsertCache(Names names) : names_(std::move(names)) {}
  const InsertStatements& of(const TableName& table);

 private:
  const Names names_;
  std::mutex mutex_;
  std::map<TableName, InsertStatements> known_;
};

/// Writes into the transaction that `link` is in: one round trip, and another if some ids existed.
/// `now` is the time of the local clock, used only as a hint. With `told`, messages with fresh ids
/// get their sequence too.
Result<std::vector<Written>> insert_messages(
    Link& link, const InsertStatements& statements,
    std::span<const std::shared_ptr<const Message>> messages, WallTime now, bool told);

}  // namespace sagabox::postgres
