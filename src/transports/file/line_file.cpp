#include "transports/file/line_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>

namespace sagabox::file {
namespace {

/// Payloads must be readable by their owner only; an existing file keeps its mode.
constexpr mode_t mode = 0600;
constexpr int poll_milliseconds = 50;

std::string_view advice(int reason) {
  switch (reason) {
    case ENOSPC:
    case EDQUOT:
      return "; make room there";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; let this process write there";
    case ENOENT:
    case ENOTDIR:
      return "; make the folder";
    case EISDIR:
      return "; name a file in it";
    case ENXIO:
    case EPIPE:
      return "; nobody reads it";
    default:
      return "";
  }
}

/// Syncs the folder, so that the name of a new file survives a power failure. Sets errno on
/// failure.
bool sync_folder(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const int descriptor =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool done = ::fsync(descriptor) == 0;
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return done;
}

}  // namespace

LineFile::~LineFile() { close(); }

void LineFile::close() {
  if (descriptor_ >= 0 && !path_.empty()) ::close(descriptor_);
  descriptor_ = -1;
}

std::string LineFile::problem(std::string_view what) const {
  return (path_.empty() ? "stdout" : "file:" + path_) + " " + std::string(what);
}

std::string LineFile::problem(std::string_view what, int reason) const {
  return problem(what) + ": " + std::generic_category().message(reason) +
         std::string(advice(reason));
}

std::string LineFile::open() {
  struct stat facts{};
  if (path_.empty()) {
    descriptor_ = STDOUT_FILENO;
  } else {
    if (descriptor_ >= 0) {
      const bool same =
          ::stat(path_.c_str(), &facts) == 0 && facts.st_dev == device_ && facts.st_ino == inode_;
      if (same) return {};
      close();
    }
    // Non-blocking: a pipe without a reader is an error, not a wait. Opened for reading too, to see
    // how the last line ends; a file that cannot be read is written all the same.
    constexpr int flags = O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const bool is_other = ::stat(path_.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
    if (!is_other) descriptor_ = ::open(path_.c_str(), flags | O_RDWR, mode);
    if (descriptor_ < 0) descriptor_ = ::open(path_.c_str(), flags | O_WRONLY, mode);
    if (descriptor_ < 0) return problem("cannot be opened", errno);
    name_synced_ = false;
  }
  if (::fstat(descriptor_, &facts) != 0) {
    const int reason = errno;
    close();
    return problem("cannot be looked at", reason);
  }
  regular_ = S_ISREG(facts.st_mode);
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
  return {};
}

bool LineFile::line_is_open() const {
  if (!regular_) return broken_line_;
  struct stat facts{};
  if (::fstat(descriptor_, &facts) != 0 || facts.st_size == 0) return false;
  char last = '\n';
  if (::pread(descriptor_, &last, 1, facts.st_size - 1) != 1) return broken_line_;
  return last != '\n';
}

LineFile::Appended LineFile::write_regular(std::string_view lines) const {
  Appended done;
  while (done.bytes < lines.size()) {
    const auto rest = lines.substr(done.bytes);
    const auto bytes = ::write(descriptor_, rest.data(), rest.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) {
      done.error = problem("cannot be written", errno);
      return done;
    }
    done.bytes += static_cast<std::size_t>(bytes);
  }
  return done;
}

LineFile::Appended LineFile::write_patiently(std::string_view lines,
                                             const std::function<bool()>& wanted) const {
  Appended done;
  while (done.bytes < lines.size()) {
    pollfd ready{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    const int polled = ::poll(&ready, 1, poll_milliseconds);
    if (polled == 0 || (polled < 0 && errno == EINTR)) {
      if (wanted()) continue;
      done.error = problem("has not been read in time");
      return done;
    }
    // After poll, a write of this size does not block.
    const auto rest = lines.substr(done.bytes, PIPE_BUF);
    const auto bytes = ::write(descriptor_, rest.data(), rest.size());
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (bytes < 0) {
      done.error = problem("cannot be written", errno);
      return done;
    }
    done.bytes += static_cast<std::size_t>(bytes);
  }
  return done;
}

std::string LineFile::sync_all() {
  if (!regular_) return {};
  if (::fdatasync(descriptor_) != 0) return problem("cannot be synced", errno);
  if (name_synced_ || path_.empty()) return {};
  if (!sync_folder(path_)) return problem("is in a folder that cannot be synced", errno);
  name_synced_ = true;
  return {};
}

LineFile::Appended LineFile::append(std::string_view lines, Sync sync,
                                    const std::function<bool()>& wanted) {
  if (auto error = open(); !error.empty()) return {0, std::move(error)};
  std::string ended;
  const std::size_t extra = line_is_open() ? 1 : 0;
  if (extra != 0) lines = ended.append("\n").append(lines);
  auto done = regular_ ? write_regular(lines) : write_patiently(lines, wanted);
  if (done.bytes > 0) broken_line_ = lines[done.bytes - 1] != '\n';
  done.bytes -= std::min(done.bytes, extra);
  if (auto error = sync == Sync::yes ? sync_all() : std::string(); !error.empty()) {
    // Data that a failed sync has left cannot be synced again.
    close();
    return {0, std::move(error)};
  }
  if (!done.error.empty()) close();
  return done;
}

}  // namespace sagabox::file
