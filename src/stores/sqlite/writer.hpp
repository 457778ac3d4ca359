#pragma once

#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/group_sync.hpp"
#include "stores/sqlite/turn.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sagabox::sqlite {

class Writer;

/// An open transaction on the connection that writes. Its destructor rolls back.
class WriteTransaction {
 public:
  WriteTransaction(WriteTransaction&& other) noexcept;
  WriteTransaction& operator=(WriteTransaction&&) = delete;
  ~WriteTransaction();

  [[nodiscard]] bool is_open() const noexcept { return writer_ != nullptr; }
  /// Only valid while the transaction is open.
  [[nodiscard]] Connection& connection() const;
  /// STORAGE.IN_DOUBT: the commit is written, but its sync failed.
  Status commit();
  Status rollback();

 private:
  friend class Writer;
  explicit WriteTransaction(Writer& writer) : writer_(&writer) {}
  Writer* writer_;
};

/// The store's only connection that writes and makes checkpoints. Transactions take turns; their
/// commits are synced to the disk together, outside of the turns. Thread-safe.
class Writer {
 public:
  static Result<std::unique_ptr<Writer>> open(const std::string& path, const Options& options);

  /// BEGIN IMMEDIATE, when it is this caller's turn. STORAGE.CONFLICT when that takes too long.
  Result<WriteTransaction> begin();
  /// Waits until everything that was committed before, by any connection, is on the disk; no-op if
  /// durability is off.
  Status sync();
  /// A number that changes after others have written, in this process or elsewhere. Nullopt while
  /// this store writes.
  std::optional<std::int64_t> version_of_others();
  /// The real path of the file, with links resolved.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool is_durable() const noexcept { return durable_; }

 private:
  friend class WriteTransaction;

  struct Bounds {
    std::int64_t checkpoint_pages = 0;
    std::int64_t restart_pages = 0;
  };

  Writer(std::unique_ptr<Connection> connection, sqlite3_file* log, const Options& options,
         Bounds bounds);
  Status commit();
  Status rollback();
  void end_turn() { turn_.release(); }
  void check_point();

  std::unique_ptr<Connection> connection_;
  const std::string path_;
  const Duration lock_max_;
  const bool durable_;
  const Bounds bounds_;
  Turn turn_;
  GroupSync sync_;
  // Guarded by the turn.
  int wal_pages_ = 0;  // after the last commit
  std::int64_t check_point_at_ = 0;
};

}  // namespace sagabox::sqlite
