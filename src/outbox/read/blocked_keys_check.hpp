#pragma once

#include <sagabox/spi/outbox_store.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sagabox::outbox {

/// The next page of retrying keys to read.
struct BlockedKeysPage {
  Sequence after{};
  std::uint32_t check = 0;
};

/// Checks page by page whether the messages that block keys still wait in the store: operators may
/// have removed some.
class BlockedKeysCheck {
 public:
  /// Ends a running check, because its pages do not contain the keys blocked in the meantime.
  void begin(std::vector<spi::RetryingKey> blockers) {
    ++begun_;
    std::ranges::sort(blockers, {}, &spi::RetryingKey::sequence);
    running_ = Running{.after = {}, .blockers = std::move(blockers)};
  }
  void end() { running_.reset(); }

  /// nullopt if no check is running.
  [[nodiscard]] std::optional<BlockedKeysPage> page() const {
    if (!running_) return std::nullopt;
    return BlockedKeysPage{.after = running_->after, .check = begun_};
  }
  /// Whether the page belongs to the running check.
  [[nodiscard]] bool expects(const BlockedKeysPage& page) const {
    return running_ && page.check == begun_;
  }
  /// After the last page, returns the blockers that the store has not returned; else empty.
  std::vector<spi::RetryingKey> seen(const BlockedKeysPage& page,
                                     std::span<const spi::RetryingKey> keys, bool exhausted) {
    if (!expects(page)) return {};
    auto& [after, blockers, looked_at, unseen] = *running_;
    const auto skip_below = [&](Sequence sequence) {
      while (looked_at < blockers.size() && blockers[looked_at].sequence < sequence) {
        unseen.push_back(blockers[looked_at++]);
      }
    };
    for (const auto& key : keys) {
      after = key.sequence;
      skip_below(key.sequence);
      if (looked_at < blockers.size() && blockers[looked_at].sequence == key.sequence) ++looked_at;
    }
    if (!exhausted) return {};
    unseen.insert(unseen.end(), blockers.begin() + static_cast<std::ptrdiff_t>(looked_at),
                  blockers.end());
    return std::exchange(running_, std::nullopt)->unseen;
  }

 private:
  struct Running {
    Sequence after;
    std::vector<spi::RetryingKey> blockers;  // by sequence
    std::size_t looked_at = 0;
    std::vector<spi::RetryingKey> unseen{};
  };
  std::optional<Running> running_;
  std::uint32_t begun_ = 0;
};

}  // namespace sagabox::outbox
