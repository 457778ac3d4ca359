#include "stores/sqlite/group_sync.hpp"

namespace sagabox::sqlite {
namespace {

Error not_synced() {
  return {Code::storage_unavailable,
          "the disk failed to take the write-ahead log (sync); look at the disk and the kernel's "
          "log, then open the store again"};
}

}  // namespace

Status GroupSync::wait() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = begun_ + 1;
  while ((ended_ < wanted || elsewhere_) && !failed_) {
    if (running_ || ended_ >= wanted) {
      ended_one_.wait(lock);
      continue;
    }
    running_ = true;
    const std::uint64_t mine = ++begun_;
    lock.unlock();
    const int result = log_->pMethods->xSync(log_, SQLITE_SYNC_NORMAL);
    lock.lock();
    running_ = false;
    ended_ = mine;
    failed_ = failed_ || result != SQLITE_OK;
    ended_one_.notify_all();
  }
  if (failed_) return not_synced();
  return {};
}

void GroupSync::begun_elsewhere() {
  const std::lock_guard lock(mutex_);
  elsewhere_ = true;
}

void GroupSync::ended_elsewhere(bool failed) {
  const std::lock_guard lock(mutex_);
  elsewhere_ = false;
  failed_ = failed_ || failed;
  ended_one_.notify_all();
}

Status GroupSync::check() {
  const std::lock_guard lock(mutex_);
  if (failed_) return not_synced();
  return {};
}

}  // namespace sagabox::sqlite
