#pragma once

#include "stores/postgres/driver/pool.hpp"
#include "stores/sql/statement.hpp"

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <chrono>
#include <cstdint>

namespace sagabox::postgres {

/// Each is one statement.
struct ArchiveStatements {
  template <class Call>
  void each(Call&& call) {
    call(archive_ahead, "archive_ahead");
    call(old_days, "old_days");
    call(lock_archive, "lock_archive");
  }

  Statement archive_ahead;
  Statement old_days;
  Statement lock_archive;
};

/// Making and dropping partitions locks the archive. It waits at most this long for the lock, and
/// settles and readers that queue behind it wait no longer either.
inline constexpr Duration archive_lock_max = std::chrono::milliseconds(100);

/// Makes the partitions of the next days. Skipped while a long read holds the archive: there are
/// several days ahead.
Status make_days_ahead(Pool& pool, const ArchiveStatements& statements);

/// Drops the partitions of an outbox's archive in which everything ended longer ago than
/// `older_than`, and returns the number of rows, as exact as `stats`. Drops nothing during a long
/// read, or without the right to drop: the caller then deletes rows.
Result<std::uint64_t> drop_old_days(Pool& pool, const ArchiveStatements& statements,
                                    Duration older_than);

}  // namespace sagabox::postgres
