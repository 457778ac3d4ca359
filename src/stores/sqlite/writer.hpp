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

/// An open transaction on the connection that writes. Rolled back when it is dropped.
class WriteTransaction {
 public:
  WriteTransaction(WriteTransaction&& other) noexcept;
  WriteTransaction& operator=(WriteTransaction&&) = delete;
  ~WriteTransaction();

  [[nodiscard]] bool is_open() const noexcept { return writer_ != nullptr; }
  /// Only while it is open.
  [[nodiscard]] Connection& connection() const;
  /// STORAGE.IN_DOUBT: it is written, but the disk would not say that it took it.
  Status commit();
  Status rollback();

 private:
  friend class Writer;
  explicit WriteTransaction(Writer& writer) : writer_(&writer) {}
  Writer* writer_;
};

/// The one connection of ours that writes and makes checkpoints. Transactions take turns; what
/// they wrote is brought to the disk together, outside their turns. Thread-safe.
class Writer {
 public:
  static Result<std::unique_ptr<Writer>> open(const std::string& path, const Options& options);

  /// BEGIN IMMEDIATE, when it is our turn. STORAGE.CONFLICT when that takes too long.
  Result<WriteTransaction> begin();
  /// Returns when everything that was committed before is on the disk, whoever wrote it; at once
  /// where nobody asked for that.
  Status sync();
  /// Another one after others have written, in this process or elsewhere, since it was asked last.
  /// Nothing while we write ourselves.
  std::optional<std::int64_t> version_of_others();
  /// The file's own name, whatever links led to it.
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
  void end_turn() { turn_.give_back(); }
  void check_point();

  std::unique_ptr<Connection> connection_;
  const std::string path_;
  const Duration lock_max_;
  const bool durable_;
  const Bounds bounds_;
  Turn turn_;
  GroupSync sync_;
  // Of whoever has the turn.
  int wal_pages_ = 0;  // after the last commit
  std::int64_t check_point_at_ = 0;
};

}  // namespace sagabox::sqlite
