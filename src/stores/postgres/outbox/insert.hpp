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
  unsigned groups = 0;  ///< of columns that are not left at their defaults
  bool single = true;
  bool fresh = true;  ///< every id was made by us a moment ago
  bool told = true;   ///< comes back with sequence, shard and savepoint

  friend auto operator<=>(const InsertForm&, const InsertForm&) = default;
};

/// Of one message as values, of a batch as lists, each with a call of its own: one call for all of
/// them first writes every list down. tests/unit/stores/postgres/outbox/insert_forms.sql has all.
std::string insert_sql(const InsertForm& form);

/// How messages get into one outbox. Thread-safe.
class InsertStatements {
 public:
  InsertStatements(const Names& names, const TableName& table);

  /// Stays. Ids that are pending are left out, unless all are fresh.
  const Statement& insert(const InsertForm& form) const;

  Statement ended;    ///< which ids are dead, quarantined or retained
  Statement pending;  ///< where the ids that were left out are
  Statement undo;

 private:
  const Names names_;
  const TableName table_;
  mutable std::mutex mutex_;
  mutable std::map<InsertForm, Statement> inserts_;
};

/// The statements of every outbox that was written to. Thread-safe; what it returns stays.
class InsertCache {
 public:
  explicit InsertCache(Names names) : names_(std::move(names)) {}
  const InsertStatements& of(const TableName& table);

 private:
  const Names names_;
  std::mutex mutex_;
  std::map<TableName, InsertStatements> known_;
};

/// Writes into the transaction that `link` is in: one round trip, another where ids were known.
/// `now` is our own clock's, and only a hint. `told`: also of those
/// with fresh ids the sequence comes back.
Result<std::vector<Written>> insert_messages(
    Link& link, const InsertStatements& statements,
    std::span<const std::shared_ptr<const Message>> messages, WallTime now, bool told);

}  // namespace sagabox::postgres
