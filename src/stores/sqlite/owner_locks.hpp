#pragma once

#include <sagabox/result.hpp>

#include <cstdint>
#include <string>

namespace sagabox::sqlite {

/// Locks of the operating system on single bytes of a file beside the database. They end with the
/// process, in every case. Two stores on one file exclude each other in the same process too. A
/// process that forks without exec shares its locks with the child.
class OwnerLocks {
 public:
  /// The file has the name of `database` with "-owners" appended.
  static Result<OwnerLocks> open(const std::string& database);
  OwnerLocks(OwnerLocks&& other) noexcept;
  OwnerLocks& operator=(OwnerLocks&&) = delete;
  ~OwnerLocks();

  /// Returns true if this object has the lock, now or already before, and false if another has it.
  [[nodiscard]] Result<bool> try_lock(std::int64_t number) const;
  void unlock(std::int64_t number) const noexcept;
  [[nodiscard]] bool is_held_elsewhere(std::int64_t number) const noexcept;

 private:
  OwnerLocks(int file, std::string path) : file_(file), path_(std::move(path)) {}
  int file_;
  std::string path_;
};

}  // namespace sagabox::sqlite
