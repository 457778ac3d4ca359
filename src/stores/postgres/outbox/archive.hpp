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

/// Making and dropping days locks the archive. Settles and readers never wait longer than this for
/// it to get its turn, and neither does it for them.
inline constexpr Duration archive_lock_max = std::chrono::milliseconds(100);

/// Makes the days that are to come. Not now while somebody reads for longer: there are days enough.
Status make_days_ahead(Pool& pool, const ArchiveStatements& statements);

/// Drops the days of an outbox's archive on which everything ended longer ago than `older_than`;
/// the rows that went, as exactly as `stats` counts them. None while somebody reads for longer, or
/// for a user who may not drop: whoever asks deletes then.
Result<std::uint64_t> drop_old_days(Pool& pool, const ArchiveStatements& statements,
                                    Duration older_than);

}  // namespace sagabox::postgres
