#pragma once

#include "outbox/entry.hpp"

#include <sagabox/spi/outbox_store.hpp>

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace sagabox::outbox {

/// Handlers that a shard was taken from while they ran: until one returns, neither its row nor
/// its key is touched in this process.
class Orphans {
 public:
  struct Orphan {
    MessageId id;
    std::uint32_t tenure = 0;  ///< in which it was started
    std::uint64_t key_hash = 0;
    bool retrying = false;  ///< its row waits for a retry by now
  };

  void add(Sequence sequence, const Message& message, std::uint32_t tenure);
  /// It has returned; nothing when it is not one of them.
  std::optional<Orphan> take(const Entry& entry);
  /// Somebody else has tried it since, and its row waits.
  void found_retrying(const spi::RetryingKey& key);

  [[nodiscard]] bool contains(Sequence sequence) const { return orphans_.contains(sequence); }
  /// The same message still runs.
  [[nodiscard]] bool hold(const spi::Row& row) const;
  /// One of this key still runs: not even an earlier message, which a fail-over may have brought
  /// back, goes beside it.
  [[nodiscard]] bool hold_key(std::uint64_t key_hash) const;

  template <typename Visit>
  void for_each_key(Visit&& visit) const {
    for (const auto& [sequence, orphan] : orphans_) {
      if (orphan.key_hash != 0) visit(orphan.key_hash, sequence);
    }
  }

 private:
  std::unordered_map<Sequence, Orphan> orphans_;
};

}  // namespace sagabox::outbox
