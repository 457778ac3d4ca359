#pragma once

#include "stores/sql/statement.hpp"
#include "stores/sqlite/link.hpp"

namespace sagabox::sqlite {

inline void assign(Sql& member, const sql::Statement& statement) {
  member.text = statement.only().sql;
}

/// The relay's statements for an outbox, see sql/outbox.sql.
struct OutboxStatements {
  template <class Call>
  void each(Call&& call) {
    call(read, "read");
    call(read_due, "read_due");
    call(retrying_keys, "read_retrying_keys");
    call(remove, "settle_remove");
    call(remove_run, "settle_remove_run");
    call(archive_run, "settle_archive_run");
    call(failures, "settle_failures");
    call(retry, "settle_retry");
    call(attempt, "settle_attempt");
    call(failed_attempt, "settle_failed_attempt");
    call(bury, "settle_bury");
    call(buried, "settle_buried");
  }

  Sql read;
  Sql read_due;
  Sql retrying_keys;
  Sql remove;      ///< a pending row
  Sql remove_run;  ///< adjacent pending rows, see `Expected`
  Sql archive_run;
  Sql failures;  ///< the failures of a row
  Sql retry;
  Sql attempt;
  Sql failed_attempt;
  Sql bury;
  Sql buried;  ///< as `sql::decode_record` reads it
};

/// The statements of native code for tables that outboxes share; the outbox is a parameter.
struct SharedStatements {
  explicit SharedStatements(sql::Sections& sections);

  Sql count;
  Sql hold;  ///< whether a fence holds
};

}  // namespace sagabox::sqlite
