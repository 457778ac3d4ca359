#include "stores/sqlite/writer.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::sqlite {
namespace {

const Sql begin_sql{"BEGIN IMMEDIATE"};
const Sql commit_sql{"COMMIT"};
const Sql rollback_sql{"ROLLBACK"};
const Sql page_size_sql{"PRAGMA page_size"};
const Sql schema_version_sql{"PRAGMA schema_version"};
const Sql data_version_sql{"PRAGMA data_version"};

/// The log is copied into the file when it reaches 1/4 of its maximum.
constexpr std::uint64_t checkpoint_share = 4;
/// How long the next writers wait for readers when the log is too long.
constexpr Duration restart_wait_max = std::chrono::milliseconds(20);

Result<std::int64_t> pragma_value(Connection& connection, const Sql& sql) {
  auto run = connection.run(sql);
  auto row = run.step();
  if (!row.ok()) return row.error();
  return run.integer(0);
}

/// The file of the log, which the first read opens.
Result<sqlite3_file*> log_of(Connection& connection) {
  if (auto read = pragma_value(connection, schema_version_sql); !read.ok()) return read.error();
  sqlite3_file* log = nullptr;
  const int result = sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER,
                                          static_cast<void*>(&log));
  if (result != SQLITE_OK || log == nullptr || log->pMethods == nullptr) {
    return Error{Code::unknown_internal,
                 "SQLite " + std::to_string(result) + ": the write-ahead log cannot be reached"};
  }
  return log;
}

int note_pages(void* pages, sqlite3*, const char*, int in_log) {
  *static_cast<int*>(pages) = in_log;
  return SQLITE_OK;
}

Error rolled_back() {
  return {Code::storage_unavailable,
          "an earlier error (disk full, out of memory, or the disk failed) rolled the transaction "
          "back; nothing of it is kept, begin again"};
}

}  // namespace

WriteTransaction::WriteTransaction(WriteTransaction&& other) noexcept
    : writer_(std::exchange(other.writer_, nullptr)) {}

WriteTransaction::~WriteTransaction() {
  if (is_open()) (void)rollback();
}

Connection& WriteTransaction::connection() const { return *writer_->connection_; }
Status WriteTransaction::commit() { return std::exchange(writer_, nullptr)->commit(); }
Status WriteTransaction::rollback() { return std::exchange(writer_, nullptr)->rollback(); }

Writer::Writer(std::unique_ptr<Connection> connection, sqlite3_file* log, const Options& options,
               Bounds bounds)
    : connection_(std::move(connection)),
      path_(sqlite3_db_filename(connection_->handle(), "main")),
      lock_max_(options.lock_max),
      durable_(options.durability == Durability::full),
      bounds_(bounds),
      sync_(log) {
  sqlite3_wal_hook(connection_->handle(), &note_pages, &wal_pages_);
}

Result<std::unique_ptr<Writer>> Writer::open(const std::string& path, const Options& options) {
  auto connection = Connection::open(path, Connection::Use::write, options);
  if (!connection.ok()) return connection.error();
  auto log = log_of(**connection);
  if (!log.ok()) return log.error();
  auto page_size = pragma_value(**connection, page_size_sql);
  if (!page_size.ok()) return page_size.error();
  const auto pages = static_cast<std::int64_t>(options.wal_bytes_max) / *page_size;
  return std::unique_ptr<Writer>(new Writer(
      std::move(*connection), *log, options,
      {.checkpoint_pages = std::max<std::int64_t>(1, pages / std::int64_t{checkpoint_share}),
       .restart_pages = std::max<std::int64_t>(1, pages)}));
}

Result<WriteTransaction> Writer::begin() {
  if (auto sound = sync_.check(); !sound.ok()) return sound.error();
  if (!turn_.take(lock_max_)) {
    return Error{Code::storage_conflict,
                 "another transaction of this process has held the write lock of " + path_ +
                     " for " + duration_text(lock_max_) +
                     "; SQLite has one writer: keep transactions short, and try again"};
  }
  if (auto begun = connection_->run(begin_sql).finish(); !begun.ok()) {
    end_turn();
    return begun.error();
  }
  return WriteTransaction(*this);
}

Status Writer::commit() {
  if (!connection_->link().in_transaction()) {
    end_turn();
    return rolled_back();
  }
  if (auto done = connection_->run(commit_sql).finish(); !done.ok()) {
    (void)rollback();
    return done;
  }
  check_point();
  end_turn();
  if (auto synced = sync(); !synced.ok()) {
    return Error{
        Code::storage_in_doubt,
        synced.error().message + "; whether this commit survives a power cut is not known"};
  }
  return {};
}

Status Writer::rollback() {
  Status done;
  // Some errors roll back by themselves.
  if (connection_->link().in_transaction()) done = connection_->run(rollback_sql).finish();
  end_turn();
  return done;
}

Status Writer::sync() {
  if (!durable_) return {};
  return sync_.wait();
}

void Writer::check_point() {
  // The log restarts after all of it was copied and no reader uses it any more.
  if (wal_pages_ < bounds_.checkpoint_pages) check_point_at_ = bounds_.checkpoint_pages;
  if (wal_pages_ < check_point_at_) return;
  // During a long read, not every commit should try a checkpoint in vain.
  check_point_at_ = wal_pages_ + bounds_.checkpoint_pages;
  // If a checkpoint fails, the next one does its work; the commit has succeeded either way.
  const bool restart = wal_pages_ >= bounds_.restart_pages;
  auto* handle = connection_->handle();
  if (restart) connection_->wait_for_locks(restart_wait_max);
  sync_.begun_elsewhere();
  const int result = sqlite3_wal_checkpoint_v2(
      handle, "main", restart ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, nullptr,
      nullptr);
  // The system reports a failed sync once: the next sync, for this commit, would succeed.
  sync_.ended_elsewhere(result == SQLITE_IOERR_FSYNC);
  if (restart) connection_->wait_for_locks(lock_max_);
}

std::optional<std::int64_t> Writer::version_of_others() {
  if (!turn_.try_take()) return std::nullopt;
  auto version = pragma_value(*connection_, data_version_sql);
  end_turn();
  if (!version.ok()) return std::nullopt;
  return *version;
}

}  // namespace sagabox::sqlite
