#pragma once

#include "stores/sqlite/statements.hpp"

#include <sagabox/spi/transaction.hpp>

#include <memory>
#include <span>
#include <vector>

namespace sagabox::sqlite {

/// The statements that insert messages into one outbox, see sql/insert.sql.
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

  Sql lock;     ///< changes nothing, but waits for the write lock
  Sql last;     ///< see `last_sequence`
  Sql known;    ///< whether this outbox exists
  Sql insert;   ///< no-op if the id is pending
  Sql plain;    ///< the same for a message with only topic, key and payload
  Sql plains;   ///< the same for `plains_together` of them
  Sql ended;    ///< where the id is dead, quarantined or retained
  Sql pending;  ///< where it is pending
  Sql note;     ///< records rows that are not in the normal lane
  Sql remove;
};

inline constexpr std::size_t plains_together = 16;

/// The last sequence that was assigned; the next one follows it. Call it in a transaction that
/// writes: no other transaction assigns any meanwhile.
Result<Sequence> last_sequence(Link& link, const TableName& table,
                               const InsertStatements& statements);

/// Writes into the transaction that `link` is in, all or none.
Result<std::vector<Written>> insert_messages(
    Link& link, const TableName& table, const InsertStatements& statements,
    std::span<const std::shared_ptr<const Message>> messages, WallTime now);

}  // namespace sagabox::sqlite
