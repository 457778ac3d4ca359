#pragma once

#include "stores/postgres/driver/link.hpp"
#include "stores/postgres/driver/names.hpp"

#include <sagabox/store.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace sagabox::postgres {

/// What the relay asks of an outbox. Each statement says in statements.cpp what its parameters are.
struct OutboxStatements {
  OutboxStatements(const Names& names, const TableName& table, ClaimMode mode = ClaimMode::sharded);

  bool claims = false;  ///< mode competing
  Statement read;
  Statement read_due;
  Statement keep_plan;     ///< before those two
  Statement lock_to_read;  ///< before several reads on one snapshot
  Statement payloads;
  Statement retrying_keys;
  Statement draw_transaction;
  Statement keep_settle_plan;  ///< before those that follow
  Statement plan_as_usual;     ///< after them
  Statement hold;
  Statement delete_done;
  Statement delete_uncounted;
  Statement archive_done;
  Statement delete_dense;  ///< none in mode competing, as the next two
  Statement archive_dense;
  Statement keep_dense_plan;  ///< before those two
  Statement retry;
  Statement bury;
};

/// What the relay asks in mode competing: settles heed claims. See competing_statements.cpp.
struct CompetingStatements : OutboxStatements {
  CompetingStatements(const Names& names, const TableName& table);

  Statement own_gates;
  Statement other_gates;
  Statement look_for_free;
  Statement claim;
  Statement next_transaction;
  Statement read_claimed;
};

/// The statements of each outbox, put together once. Thread-safe.
template <class Statements>
class PerTable {
 public:
  explicit PerTable(const Names& names) : names_(names) {}

  const Statements& of(const TableName& table) {
    const std::lock_guard lock(mutex_);
    auto& known = known_[table.str()];
    if (!known) known = std::make_unique<const Statements>(names_, table);
    return *known;
  }

 private:
  Names names_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<const Statements>, std::less<>> known_;
};

}  // namespace sagabox::postgres
