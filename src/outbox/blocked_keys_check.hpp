#pragma once

#include <sagabox/spi/outbox_store.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>

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
  void begin(std::set<Sequence> blockers) {
    ++begun_;
    running_.reset();
    if (!blockers.empty()) running_ = Running{.after = {}, .unseen = std::move(blockers)};
  }
  void end() { running_.reset(); }

  /// Nothing: there is nothing to ask.
  [[nodiscard]] std::optional<BlockedKeysPage> page() const {
    if (!running_) return std::nullopt;
    return BlockedKeysPage{.after = running_->after, .check = begun_};
  }
  /// The blockers that the store has not shown, when this was the last page.
  std::set<Sequence> seen(const BlockedKeysPage& page, std::span<const spi::RetryingKey> keys,
                          bool exhausted) {
    if (!running_ || page.check != begun_) return {};
    for (const auto& key : keys) {
      running_->after = key.sequence;
      running_->unseen.erase(key.sequence);
    }
    if (!exhausted) return {};
    return std::exchange(running_, std::nullopt)->unseen;
  }

 private:
  struct Running {
    Sequence after;
    std::set<Sequence> unseen;
  };
  std::optional<Running> running_;
  std::uint32_t begun_ = 0;
};

}  // namespace sagabox::outbox
