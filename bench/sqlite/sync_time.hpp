#pragma once

#include "bench/measure.hpp"

#include <sqlite3.h>

#include <string>

namespace sagabox::bench::sqlite {

/// The system's files; tells when the write-ahead log was brought to the disk. Registered with
/// SQLite while it lives; one at a time.
class SyncTime {
 public:
  SyncTime();
  ~SyncTime();
  SyncTime(const SyncTime&) = delete;
  SyncTime& operator=(const SyncTime&) = delete;

  [[nodiscard]] std::string vfs() const { return vfs_.zName; }
  /// When the first sync ended that ended after `begin`. Throws when there was none.
  [[nodiscard]] Steady::time_point first_after(Steady::time_point begin) const;

 private:
  sqlite3_vfs vfs_;
};

}  // namespace sagabox::bench::sqlite
