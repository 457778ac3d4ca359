#pragma once

#include "stores/postgres/link.hpp"
#include "stores/postgres/names.hpp"

#include <sagabox/spi/transaction.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace sagabox::postgres {

/// How messages get into one outbox.
struct InsertStatements {
  InsertStatements(const Names& names, const TableName& table);

  Statement insert_one;
  Statement insert;   ///< all of a batch; ids that are pending are left out
  Statement ended;    ///< which ids are dead, quarantined or retained
  Statement pending;  ///< where the ids that were left out are
  Statement undo;
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
/// `now` is our own clock's, and only a hint.
Result<std::vector<Written>> insert_messages(
    Link& link, const InsertStatements& statements,
    std::span<const std::shared_ptr<const Message>> messages, WallTime now);

}  // namespace sagabox::postgres
