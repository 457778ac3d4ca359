#pragma once

#include <sagabox/random.hpp>
#include <sagabox/time.hpp>

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::testing {

/// The content of a folder: paths and bytes.
using Files = std::map<std::string, std::string>;

/// The unsynced data that remain after a power failure.
enum class Unsynced : std::uint8_t {
  lost,    ///< nothing remains
  kept,    ///< everything, as when only the process dies
  random,  ///< random sectors, and folder entries up to a random one
};

/// A disk in memory that SQLite uses as a VFS. It records every act, so that a test can simulate a
/// power failure after each act, in several ways. Registered under its name while it lives, which
/// must be longer than the files opened on it. Thread-safe.
class SqliteDisk {
 public:
  enum class Kind : std::uint8_t {
    make,
    write,
    truncate,
    sync,
    failed_sync,  ///< unsynced data are lost for good, though they can be read meanwhile
    remove,
    sync_folder,
  };
  /// Returns SQLITE_OK, or the error of the act.
  using Refuse = std::function<int(Kind kind, std::string_view path)>;

  explicit SqliteDisk(std::string name);
  ~SqliteDisk();
  SqliteDisk(const SqliteDisk&) = delete;
  SqliteDisk& operator=(const SqliteDisk&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Sets the content: all synced, and no acts. No file may be open.
  void restore(const Files& files);
  [[nodiscard]] Files files() const;
  /// How many acts there were.
  [[nodiscard]] std::size_t acts() const;
  [[nodiscard]] std::size_t acts(Kind kind, std::string_view path) const;
  /// Delays syncs, so that others write meanwhile.
  void let_syncs_take(Duration time) { sync_takes_ = time; }
  /// Called before each act.
  void refuse(Refuse refuse);

  struct Node;
  struct Act {
    Kind kind = Kind::write;
    std::size_t node = 0;
    std::string path{};
    /// The offset of a write, the new size of a truncate, or the number of acts when a sync began.
    std::size_t at = 0;
    std::string bytes{};
  };

  /// Replays the acts, from the first to the last, and returns what a power failure leaves.
  class Platter {
   public:
    explicit Platter(const SqliteDisk& disk);
    Platter(const Platter&) = delete;
    Platter& operator=(const Platter&) = delete;
    /// Must not go back.
    void go_to(std::size_t acts);
    [[nodiscard]] Files cut(Unsynced unsynced, Random& random) const;

   private:
    struct File {
      std::string synced;
      std::vector<const Act*> since;
    };
    void apply(const Act& act);

    const std::vector<Act> acts_;
    std::size_t position_ = 0;
    std::map<std::size_t, File> nodes_;
    std::map<std::string, std::size_t> folder_;
    std::vector<const Act*> folder_since_;
  };

 private:
  friend struct DiskFile;
  friend struct DiskMethods;

  int ask(Kind kind, std::string_view path);
  void note(Act act) { acts_.push_back(std::move(act)); }
  std::shared_ptr<Node> make(const std::string& path);

  const std::string name_;
  sqlite3_vfs vfs_{};
  mutable std::mutex mutex_;
  Refuse refuse_;
  Duration sync_takes_{};
  std::map<std::string, std::shared_ptr<Node>> folder_;
  std::vector<Act> acts_;
  Files restored_;
  std::size_t nodes_ = 0;
};

}  // namespace sagabox::testing
