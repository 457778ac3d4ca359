#pragma once

#include "stores/sqlite/link.hpp"

#include <sagabox/spi/transaction.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sagabox::sqlite {

/// How messages get into one outbox.
struct InsertStatements {
  explicit InsertStatements(const TableName& table);

  std::string name;
  Sql draw;    ///< sequences for a batch
  Sql insert;  ///< nothing happens where the id is pending
  Sql highest_ended;
  Sql ended;    ///< where the id is dead, quarantined or retained
  Sql pending;  ///< where it is pending
  Sql undraw;   ///< what was counted, but not inserted
  Sql remove;
};

/// Writes into the transaction that `link` is in, all or none.
Result<std::vector<Written>> insert_messages(
    Link& link, const InsertStatements& statements,
    std::span<const std::shared_ptr<const Message>> messages, WallTime now);

}  // namespace sagabox::sqlite
