#pragma once

#include <sagabox/result.hpp>

#include <sqlite3.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sagabox::sqlite {

/// Brings commits to the disk, many at a time: whoever comes first syncs the write-ahead log for
/// all that were written before, and those who come meanwhile share the next one. Thread-safe.
class GroupSync {
 public:
  /// `log` is the open file of the write-ahead log, and outlives this.
  explicit GroupSync(sqlite3_file* log) : log_(log) {}

  /// Returns when everything written before this call is on the disk. An error stays: after a
  /// failed sync the system may have forgotten what was not written.
  Status wait();
  /// Somebody else syncs the log, too, from here to `ended_elsewhere`. The system tells a failure
  /// once, and may tell it there: until then nobody hears that a sync has succeeded.
  void begun_elsewhere();
  void ended_elsewhere(bool failed);
  /// STORAGE.UNAVAILABLE after a sync that failed.
  Status check();

 private:
  sqlite3_file* const log_;
  std::mutex mutex_;
  std::condition_variable ended_one_;
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
  bool running_ = false;
  bool elsewhere_ = false;
  bool failed_ = false;
};

}  // namespace sagabox::sqlite
