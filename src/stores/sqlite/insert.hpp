#pragma once

#include "stores/sqlite/statements.hpp"

#include <sagabox/spi/transaction.hpp>

#include <memory>
#include <span>
#include <vector>

namespace sagabox::sqlite {

/// How messages get into one outbox, see sql/insert.sql.
struct InsertStatements {
  template <class Call>
  void each(Call&& call) {
    call(lock, "insert_lock");
    call(last, "insert_last");
    call(known, "insert_known");
    call(insert, "insert_one");
    call(plain, "insert_plain");
    call(plains, "insert_plains");
    call(ended, "insert_ended");
    call(pending, "insert_pending");
    call(note, "insert_note");
    call(remove, "insert_undo");
  }

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

inline constexpr std::size_t plains_together = 16;

/// The last that was given out; the next one follows it. In a transaction that writes: nobody else
/// gives out any meanwhile.
Result<Sequence> last_sequence(Link& link, const TableName& table,
                               const InsertStatements& statements);

/// Writes into the transaction that `link` is in, all or none.
Result<std::vector<Written>> insert_messages(
    Link& link, const TableName& table, const InsertStatements& statements,
    std::span<const std::shared_ptr<const Message>> messages, WallTime now);

}  // namespace sagabox::sqlite
