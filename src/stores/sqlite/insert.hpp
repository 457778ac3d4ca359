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
  Sql lock;     ///< changes nothing, but waits for the right to write
  Sql last;     ///< see `last_sequence`
  Sql known;    ///< whether there is this outbox
  Sql insert;   ///< nothing happens where the id is pending
  Sql plain;    ///< the same for a message with nothing but topic, key and payload
  Sql plains;   ///< for `plains_together` of them
  Sql ended;    ///< where the id is dead, quarantined or retained
  Sql pending;  ///< where it is pending
  Sql note;     ///< what is not in the normal lane
  Sql remove;
};

/// A statement for each row would open and close the tables for each.
inline constexpr std::size_t plains_together = 16;

/// The last that was given out; the next one follows it. In a transaction that writes: nobody else
/// gives out any meanwhile.
Result<Sequence> last_sequence(Link& link, const InsertStatements& statements);

/// Writes into the transaction that `link` is in, all or none.
Result<std::vector<Written>> insert_messages(
    Link& link, const InsertStatements& statements,
    std::span<const std::shared_ptr<const Message>> messages, WallTime now);

}  // namespace sagabox::sqlite
