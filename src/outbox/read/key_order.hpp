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
///
/// A key is blocked while its head waits for a retry. For `blocked_max` keys it is known which
/// message blocks them. Those beyond are the overflow, in a KeyFilter: it is only known that they
/// may be blocked, and their later messages wait until the store has been asked which still are.
class KeyOrder {
 public:
  struct Limits {
    std::size_t chain_max = 64;  ///< messages kept in memory behind the head of a key
    std::size_t blocked_max = 100'000;
    std::size_t overflow_bytes_max = std::size_t{1} << 20U;
  };
  explicit KeyOrder(const Limits& limits);
  ~KeyOrder();
  KeyOrder(KeyOrder&&) noexcept;
  KeyOrder& operator=(KeyOrder&&) noexcept;

  enum class Place : std::uint8_t {
    head,           ///< goes now
    waiting,        ///< kept behind the head
    full,           ///< not kept: too many wait already
    blocked,        ///< not kept: an earlier one must go first, and is not here
    maybe_blocked,  ///< not kept: the key is in the overflow
  };
  /// `entry` is moved from only when it is kept waiting. Marks a head that its key waited for.
  Place offer(Entry& entry);

  /// The head has ended; the next one goes, if one waits here.
  std::optional<Entry> advance(std::uint64_t key_hash);

  /// Nobody of this key goes before `sequence`, which is not here now: it waits for its retry.
  /// Gives back those that waited, in order.
  std::vector<Entry> block(std::uint64_t key_hash, Sequence sequence);
  /// The same for a head that has just failed: the store does not show it as waiting before
  /// `settled`.
  std::vector<Entry> block_unsettled(std::uint64_t key_hash, Sequence sequence);
  void settled(Sequence sequence);
  /// `sequence` no longer stands in the way. Gives the key it blocked, if it did: its row may be
  /// past reading, so its key is not asked for. Looks at all of them.
  std::optional<std::uint64_t> unblock(Sequence sequence);
  /// The same where the key is known. False: it did not block it.
  bool unblock(std::uint64_t key_hash, Sequence sequence);
  /// It is known by name what blocks the key.
  [[nodiscard]] bool has_blocker(std::uint64_t key_hash) const;
  /// The key waits for a retry, or may do so: it is in the overflow.
  [[nodiscard]] bool may_be_blocked(std::uint64_t key_hash) const;
  /// The message is what its key is known to wait for.
  [[nodiscard]] bool blocks(std::uint64_t key_hash, Sequence sequence) const;
  /// Gives up the head and those behind it; what blocks the key still does.
  std::vector<Entry> release(std::uint64_t key_hash);

  /// More of this key could be kept: nothing blocks it, and less than half of what may wait does.
  [[nodiscard]] bool roomy(std::uint64_t key_hash) const;
  /// Blocked keys, those in the overflow included, which may be blocked no longer.
  [[nodiscard]] std::size_t blocked() const noexcept;
  /// What the blocked keys wait for, as far as it is known.
  [[nodiscard]] std::vector<spi::RetryingKey> blockers() const;
  /// Everything that waits in memory, in no order between keys.
  std::vector<Entry> clear();

  [[nodiscard]] bool overflowed() const noexcept;
  /// The overflow is counted anew: from here on until `end_recount` the keys are named that are
  /// blocked. Those blocked meanwhile are in it without being named.
  void begin_recount();
  void still_blocked(std::uint64_t key_hash, Sequence sequence);
  /// Returns false if no count was going on.
  bool end_recount();

 private:
  struct Chain;
  struct State;
  std::unique_ptr<State> state_;
  Limits limits_;
};

}  // namespace sagabox::outbox
