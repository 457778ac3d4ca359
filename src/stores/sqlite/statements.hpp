#pragma once

#include "stores/sqlite/link.hpp"

#include <sagabox/message.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace sagabox::sqlite {

/// What the relay asks of an outbox. Each statement says in statements.cpp what its parameters are.
struct OutboxStatements {
  explicit OutboxStatements(const TableName& table);

  Sql read;
  Sql read_due;
  Sql retrying_keys;
  Sql remove;      ///< a pending row
  Sql remove_run;  ///< pending rows side by side, see `Expected`
  Sql archive_run;
  Sql trouble;  ///< what a row says of its failures
  Sql retry;
  Sql attempt;
  Sql failed_attempt;
  Sql bury;
  Sql buried;  ///< as `sql::decode_record` reads it
};

/// What the native parts ask of the tables that outboxes share; the outbox is a parameter.
struct SharedStatements {
  SharedStatements();

  Sql count;
  Sql hold;  ///< whether a fence holds
};

/// The statements of each outbox, put together once. Thread-safe.
template <class Statements>
class PerTable {
 public:
  const Statements& of(const TableName& table) {
    const std::lock_guard lock(mutex_);
    auto& known = known_[table.str()];
    if (!known) known = std::make_unique<const Statements>(table);
    return *known;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<const Statements>, std::less<>> known_;
};

}  // namespace sagabox::sqlite
