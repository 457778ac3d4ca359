#pragma once

#include <sagabox/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace sagabox::transports {

/// Bytes to be written. Written bytes are freed even while more are appended: at most as many of
/// them are kept as are still unwritten.
class OutBuffer {
 public:
  [[nodiscard]] bool empty() const noexcept { return written_ == bytes_.size(); }
  /// The number of bytes still to be written.
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() - written_; }
  /// Only for appending.
  [[nodiscard]] std::string& end() noexcept { return bytes_; }
  /// The number of bytes kept, including written ones.
  [[nodiscard]] std::size_t kept() const noexcept { return bytes_.size(); }

  /// Passes the bytes to `write`, a `Result<std::size_t>(std::string_view)` that returns how many
  /// it took, until it takes none or all are written.
  template <class Write>
  Status flush(const Write& write) {
    while (!empty()) {
      const auto taken = write(std::string_view(bytes_).substr(written_));
      if (!taken) return taken.error();
      if (*taken == 0) break;
      written_ += *taken;
    }
    // At this point fewer bytes are moved than were written.
    if (written_ >= size()) {
      bytes_.erase(0, written_);
      written_ = 0;
    }
    return {};
  }

 private:
  std::string bytes_;
  std::size_t written_ = 0;
};

}  // namespace sagabox::transports
