#pragma once

#include <sagabox/spi/outbox_store.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sagabox::outbox {

/// A page of the keys that do wait, to be asked for.
struct BlockedKeysPage {
  Sequence after{};
  std::uint32_t check = 0;
};

/// Whether the messages that keys wait for still wait themselves, page by page: operators may have
/// taken some away.
class BlockedKeysCheck {
 public:
  /// Ends one that runs: its pages do not know what has been blocked meanwhile.
  void begin(std::vector<spi::RetryingKey> blockers) {
    ++begun_;
    std::ranges::sort(blockers, {}, &spi::RetryingKey::sequence);
    running_ = Running{.after = {}, .blockers = std::move(blockers)};
  }
  void end() { running_.reset(); }

  /// Nullopt: there is nothing to ask.
  [[nodiscard]] std::optional<BlockedKeysPage> page() const {
    if (!running_) return std::nullopt;
    return BlockedKeysPage{.after = running_->after, .check = begun_};
  }
  /// The page belongs to the check that runs.
  [[nodiscard]] bool expects(const BlockedKeysPage& page) const {
    return running_ && page.check == begun_;
  }
  /// The blockers that the store has not shown, when this was the last page.
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
