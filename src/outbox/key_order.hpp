#pragma once

#include "outbox/entry.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sagabox::outbox {

/// Keeps the messages of a key in order, one at a time, in one shard. Keys are known by their
/// hash: two that collide share a place in the line, no more. Pure.
class KeyOrder {
 public:
  /// At most `chain_max` messages wait in memory behind the head of a key.
  explicit KeyOrder(std::size_t chain_max);
  ~KeyOrder();
  KeyOrder(KeyOrder&&) noexcept;
  KeyOrder& operator=(KeyOrder&&) noexcept;

  enum class Place : std::uint8_t {
    head,     ///< goes now
    waiting,  ///< kept behind the head
    full,     ///< not kept: too many wait already
    blocked,  ///< not kept: an earlier one must go first, and is not here
  };
  /// `entry` is moved from only when it is kept waiting. Marks a head that its key waited for.
  Place offer(Entry& entry);

  /// The head has ended; the next one goes, if one waits here.
  std::optional<Entry> advance(std::uint64_t key_hash);

  /// Nobody of this key goes before `sequence`, which is not here now: it waits for its retry.
  /// Gives back those that waited, in order.
  std::vector<Entry> block(std::uint64_t key_hash, Sequence sequence);
  /// `sequence` no longer stands in the way. Gives the key it blocked, if it did: its row may be
  /// past reading, so its key is not asked for.
  std::optional<std::uint64_t> unblock(Sequence sequence);
  /// The same where the key is known. False: it did not block it.
  bool unblock(std::uint64_t key_hash, Sequence sequence);
  /// Gives up the head and those behind it; what blocks the key still does.
  std::vector<Entry> release(std::uint64_t key_hash);

  /// More of this key could be kept: nothing blocks it, and less than half of what may wait does.
  [[nodiscard]] bool roomy(std::uint64_t key_hash) const;
  [[nodiscard]] std::size_t blocked() const noexcept { return blocked_; }
  /// What the blocked keys wait for.
  [[nodiscard]] std::vector<Sequence> blockers() const;
  /// Everything that waits in memory, in no order between keys.
  std::vector<Entry> clear();

 private:
  struct Chain;
  struct Chains;
  std::unique_ptr<Chains> chains_;
  std::size_t chain_max_;
  std::size_t blocked_ = 0;
};

}  // namespace sagabox::outbox
