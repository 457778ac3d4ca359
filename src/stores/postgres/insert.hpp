#pragma once

#include "stores/postgres/link.hpp"
#include "stores/postgres/names.hpp"

#include <sagabox/spi/transaction.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sagabox::postgres {

/// How messages get into one outbox.
struct InsertStatements {
  InsertStatements(const Names& names, const TableName& table);

  Statement insert;   ///< all of a batch; ids that are pending are left out
  Statement ended;    ///< which ids are dead, quarantined or retained
  Statement pending;  ///< where the ids that were left out are
  Statement undo;
};

/// Writes into the transaction that `link` is in: one round trip, another where ids were known.
/// `now` is our own clock's, and only a hint.
Result<std::vector<Written>> insert_messages(
    Link& link, const InsertStatements& statements,
    std::span<const std::shared_ptr<const Message>> messages, WallTime now);

}  // namespace sagabox::postgres
