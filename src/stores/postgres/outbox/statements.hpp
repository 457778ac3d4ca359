#pragma once

#include "stores/postgres/driver/link.hpp"

namespace sagabox::postgres {

/// The relay's statements for an outbox, see sql/read.sql and sql/settle.sql.
struct OutboxStatements {
  template <class Call>
  void each(Call&& call) {
    each_read(call);
    call(delete_done, "settle_delete");
    call(delete_uncounted, "settle_delete_uncounted");
    call(archive_done, "settle_archive");
    call(delete_dense, "settle_delete_dense");
    call(archive_dense, "settle_archive_dense");
    call(keep_dense_plan, "settle_keep_dense_plan");
    call(retry, "settle_retry");
    call(bury, "settle_bury");
  }
  /// The statements that are the same in every mode.
  template <class Call>
  void each_read(Call&& call) {
    call(read, "read");
    call(read_due, "read_due");
    call(keep_plan, "read_keep_plan");
    call(lock_to_read, "read_lock");
    call(payloads, "read_payloads");
    call(retrying_keys, "read_retrying_keys");
    call(draw_transaction, "read_draw_transaction");
    call(keep_settle_plan, "settle_keep_plan");
    call(plan_as_usual, "settle_plan_as_usual");
    call(hold, "settle_hold");
  }

  bool claims = false;  ///< mode competing
  Statement read;
  Statement read_due;
  Statement keep_plan;     ///< before those two
  Statement lock_to_read;  ///< before several reads on one snapshot
  Statement payloads;
  Statement retrying_keys;
  Statement draw_transaction;
  Statement keep_settle_plan;  ///< before those that follow
  Statement plan_as_usual;     ///< after those
  Statement hold;
  Statement delete_done;
  Statement delete_uncounted;
  Statement archive_done;
  Statement delete_dense;  ///< none in mode competing, like the next two
  Statement archive_dense;
  Statement keep_dense_plan;  ///< before those two
  Statement retry;
  Statement bury;
};

/// The relay's statements in mode competing, see sql/competing.sql: settles also delete claims.
struct CompetingStatements : OutboxStatements {
  CompetingStatements() { claims = true; }

  template <class Call>
  void each(Call&& call) {
    each_read(call);
    call(delete_done, "competing_settle_delete");
    call(delete_uncounted, "competing_settle_delete_uncounted");
    call(archive_done, "competing_settle_archive");
    call(retry, "competing_settle_retry");
    call(bury, "competing_settle_bury");
    call(own_gates, "competing_own_gates");
    call(other_gates, "competing_other_gates");
    call(look_for_free, "competing_look_for_free");
    call(claim, "competing_claim");
    call(next_transaction, "competing_next_transaction");
    call(read_claimed, "competing_read_claimed");
  }

  Statement own_gates;
  Statement other_gates;
  Statement look_for_free;
  Statement claim;
  Statement next_transaction;
  Statement read_claimed;
};

}  // namespace sagabox::postgres
