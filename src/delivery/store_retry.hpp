#pragma once

#include <sagabox/error.hpp>
#include <sagabox/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace sagabox::delivery {

/// Whether the same call may succeed later: the store was not reached, or somebody was in the way.
/// What is in doubt may be repeated too, since every write of the hub is.
constexpr bool may_be_repeated(Code code) noexcept {
  return code == Code::storage_unavailable || code == Code::storage_in_doubt ||
         code == Code::storage_conflict || code == Code::tx_timeout || code == Code::server_busy;
}

/// When a store that has failed is called again.
class StoreRetry {
 public:
  static constexpr Duration wait_min = std::chrono::milliseconds(10);
  static constexpr Duration wait_max = std::chrono::seconds(1);

  void failed(BootTime now) {
    at_ = now + std::min(wait_max, wait_min * (1 << std::min(failures_, doublings_max)));
    ++failures_;
  }
  void succeeded() noexcept { failures_ = 0; }
  [[nodiscard]] BootTime at() const noexcept { return at_; }

 private:
  static constexpr std::uint32_t doublings_max = 7;

  BootTime at_{};
  std::uint32_t failures_ = 0;
};

}  // namespace sagabox::delivery
