#include "stores/sqlite/owner_locks.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sagabox::sqlite {
namespace {

constexpr mode_t mode_default = 0600;

/// Created with the mode of the database: another user may have the right to write both.
int open_beside(const std::string& database, const std::string& path) {
  constexpr int flags = O_RDWR | O_CREAT | O_CLOEXEC;
  struct stat facts{};
  constexpr mode_t rights = 0777;
  const auto mode = ::stat(database.c_str(), &facts) == 0 ? facts.st_mode & rights : mode_default;
  const int made = ::open(path.c_str(), flags | O_EXCL, mode_default);
  if (made < 0) return ::open(path.c_str(), flags, mode_default);
  // Best effort: if it fails, other users get an error when they open it.
  (void)::fchmod(made, mode);
  return made;
}

struct flock byte(std::int64_t number, short kind) {
  struct flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = number;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<OwnerLocks> OwnerLocks::open(const std::string& database) {
  const auto path = database + "-owners";
  const int file = open_beside(database, path);
  if (file < 0) {
    return Error{Code::config_invalid,
                 "cannot open " + path + ": " + std::strerror(errno) +
                     "; give this user the right to write to the folder of the database"};
  }
  return OwnerLocks(file, path);
}

OwnerLocks::OwnerLocks(OwnerLocks&& other) noexcept
    : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)) {}

OwnerLocks::~OwnerLocks() {
  if (file_ >= 0) ::close(file_);
}

Result<bool> OwnerLocks::try_lock(std::int64_t number) const {
  auto lock = byte(number, F_WRLCK);
  if (fcntl(file_, F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return Error{Code::storage_unavailable, "cannot lock " + path_ + ": " + std::strerror(errno)};
}

void OwnerLocks::unlock(std::int64_t number) const noexcept {
  auto lock = byte(number, F_UNLCK);
  (void)fcntl(file_, F_OFD_SETLK, &lock);
}

bool OwnerLocks::is_held_elsewhere(std::int64_t number) const noexcept {
  auto lock = byte(number, F_WRLCK);
  return fcntl(file_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace sagabox::sqlite
