#pragma once

#include <sagabox/result.hpp>

#include <sqlite3.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sagabox::sqlite {

/// Syncs commits to the disk, many at a time: the first caller syncs the write-ahead log for all
/// commits written before, and callers that arrive meanwhile share the next sync. Thread-safe.
class GroupSync {
 public:
  /// `log` is the open file of the write-ahead log, and must outlive this.
  explicit GroupSync(sqlite3_file* log) : log_(log) {}

  /// Waits until everything written before this call is on the disk. An error is permanent: after a
  /// failed sync the system may have dropped data that was not written.
  Status wait();
  /// Other code also syncs the log, from here to `ended_elsewhere`. The system reports a failure
  /// once, and may report it there: until then no caller is told that a sync succeeded.
  void begun_elsewhere();
  void ended_elsewhere(bool failed);
  /// STORAGE.UNAVAILABLE after a failed sync.
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
