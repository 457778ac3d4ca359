#pragma once

#include "stores/sqlite/link.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <memory>
#include <string>

namespace sagabox::sqlite {

/// A connection that the store owns, to one file.
class Connection {
 public:
  enum class Use : std::uint8_t { write, read };

  /// `Use::write` makes the file, and switches it to a write-ahead log. CONFIG.INVALID for errors
  /// that a retry does not fix: no such folder, no right to write, not a database.
  static Result<std::unique_ptr<Connection>> open(const std::string& path, Use use,
                                                  const Options& options);

  [[nodiscard]] Link& link() noexcept { return link_; }
  Run run(const Sql& sql) { return link_.run(sql); }
  [[nodiscard]] std::int64_t changes() const { return link_.changes(); }
  [[nodiscard]] sqlite3* handle() const noexcept { return handle_.get(); }
  /// How long statements wait for locks of other connections before they fail.
  void wait_for_locks(Duration wait_max);

 private:
  struct Close {
    // Statements that a user has not finalized keep the connection open until they are.
    void operator()(sqlite3* connection) const noexcept { sqlite3_close_v2(connection); }
  };
  using Handle = std::unique_ptr<sqlite3, Close>;

  explicit Connection(Handle handle) : handle_(std::move(handle)), link_(handle_.get()) {}
  Status set_up(const std::string& path, Use use, const Options& options);
  Status log_ahead(const std::string& path);

  Handle handle_;
  Link link_;
};

}  // namespace sagabox::sqlite
