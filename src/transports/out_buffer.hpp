#pragma once

#include <sagabox/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace sagabox::transports {

/// Bytes that wait to be written. What was written is let go of though more keeps coming: at most
/// as much as still waits is kept of it.
class OutBuffer {
 public:
  [[nodiscard]] bool empty() const noexcept { return written_ == bytes_.size(); }
  /// What waits.
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() - written_; }
  /// To append to, and for nothing else.
  [[nodiscard]] std::string& end() noexcept { return bytes_; }
  /// What is kept, with what was written.
  [[nodiscard]] std::size_t kept() const noexcept { return bytes_.size(); }

  /// Hands what waits to `write`, a `Result<std::size_t>(std::string_view)` that says how much it
  /// took, until it takes nothing or all is written.
  template <class Write>
  Status flush(const Write& write) {
    while (!empty()) {
      const auto taken = write(std::string_view(bytes_).substr(written_));
      if (!taken) return taken.error();
      if (*taken == 0) break;
      written_ += *taken;
    }
    // Moved by then are fewer bytes than were written.
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
