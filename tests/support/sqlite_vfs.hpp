#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace sagabox::testing {

/// The system's files, observed: a test sees every write and sync before it happens, and may delay
/// it or let it fail. Registered under a name of its own while it lives, which must be longer than
/// the files opened through it.
class WatchedVfs {
 public:
  enum class Act : std::uint8_t { write, sync, truncate };
  /// Returns SQLITE_OK, or the error of the act. Called on any thread.
  using Watch = std::function<int(Act act, std::string_view path)>;

  explicit WatchedVfs(std::string name);
  ~WatchedVfs();
  WatchedVfs(const WatchedVfs&) = delete;
  WatchedVfs& operator=(const WatchedVfs&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  void watch(Watch watch);
  /// Called before each act.
  int ask(Act act, std::string_view path);
  [[nodiscard]] sqlite3_vfs* system() const noexcept { return system_; }

 private:
  std::string name_;
  sqlite3_vfs* system_;
  sqlite3_vfs vfs_{};
  std::mutex mutex_;
  Watch watch_;
};

}  // namespace sagabox::testing
