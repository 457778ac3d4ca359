#pragma once

#include "outbox/entry.hpp"

#include <sagabox/spi/outbox_store.hpp>

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace sagabox::outbox {

/// Handlers that were running when this process lost their shard: until one returns, this process
/// dispatches neither its row nor its key.
class Orphans {
 public:
  struct Orphan {
    MessageId id;
    std::uint32_t tenure = 0;  ///< the tenure in which it was started
    std::uint64_t key_hash = 0;
    bool retrying = false;  ///< its row waits for a retry now
  };

  void add(Sequence sequence, const Message& message, std::uint32_t tenure);
  /// The handler of this entry has returned. nullopt if it is not an orphan.
  std::optional<Orphan> take(const Entry& entry);
  /// Another process has tried the message since, and its row waits for a retry.
  void found_retrying(const spi::RetryingKey& key);

  [[nodiscard]] bool contains(Sequence sequence) const { return orphans_.contains(sequence); }
  /// Whether a handler of the same message still runs.
  [[nodiscard]] bool hold(const spi::Row& row) const;
  /// Whether a handler of this key still runs. Then not even an earlier message, which a fail-over
  /// may have restored, may be dispatched.
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
