#pragma once

#include "outbox/entry.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sagabox::outbox {

/// Keeps the messages of a key in order, one at a time, in one shard. Keys are identified by their
/// hash: two keys with the same hash are ordered together. Pure.
///
/// A key is blocked while its head waits for a retry. For `blocked_max` keys the blocking message
/// is known. Further keys are in the overflow, a KeyFilter: they may be blocked, and their later
/// messages wait until a read of the store shows which keys still are.
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
    head,           ///< may be dispatched now
    waiting,        ///< kept behind the head
    full,           ///< not kept: too many messages wait
    blocked,        ///< not kept: an earlier message that is not in memory must come first
    maybe_blocked,  ///< not kept: the key is in the overflow
  };
  /// `entry` is moved from only if the result is `waiting`. Sets `was_blocking` of a head that
  /// blocked its key.
  Place offer(Entry& entry);

  /// The head has ended; returns the next message if one waits here.
  std::optional<Entry> advance(std::uint64_t key_hash);

  /// Blocks the key until `sequence`, which is not in memory, was retried. Returns the waiting
  /// messages, in order.
  std::vector<Entry> block(std::uint64_t key_hash, Sequence sequence);
  /// The same for a head that has just failed: reads do not return it as waiting before `settled`.
  std::vector<Entry> block_unsettled(std::uint64_t key_hash, Sequence sequence);
  void settled(Sequence sequence);
  /// `sequence` no longer blocks a key. Returns the key it blocked, if any; the key is not a
  /// parameter because the row may not be readable. Searches all keys.
  std::optional<std::uint64_t> unblock(Sequence sequence);
  /// The same for a known key. Returns false if it did not block the key.
  bool unblock(std::uint64_t key_hash, Sequence sequence);
  /// Whether the message that blocks the key is known.
  [[nodiscard]] bool has_blocker(std::uint64_t key_hash) const;
  /// Whether the key is blocked, or may be because it is in the overflow.
  [[nodiscard]] bool may_be_blocked(std::uint64_t key_hash) const;
  /// Whether this message is known to block the key.
  [[nodiscard]] bool blocks(std::uint64_t key_hash, Sequence sequence) const;
  /// Removes the head and returns the messages behind it; a block of the key stays.
  std::vector<Entry> release(std::uint64_t key_hash);

  /// Whether more messages of this key can be kept: it is not blocked, and at most half of the
  /// allowed number wait.
  [[nodiscard]] bool roomy(std::uint64_t key_hash) const;
  /// The number of blocked keys, including those in the overflow, which may not be blocked any
  /// more.
  [[nodiscard]] std::size_t blocked() const noexcept;
  /// The known messages that block keys.
  [[nodiscard]] std::vector<spi::RetryingKey> blockers() const;
  /// Removes and returns all messages that wait in memory, without order between keys.
  std::vector<Entry> clear();

  [[nodiscard]] bool overflowed() const noexcept;
  /// Begins to rebuild the overflow: until `end_recount`, call `still_blocked` for each blocked
  /// key. Keys that become blocked in the meantime are added automatically.
  void begin_recount();
  void still_blocked(std::uint64_t key_hash, Sequence sequence);
  /// Returns false if no rebuild was running.
  bool end_recount();

 private:
  struct Chain;
  struct State;
  std::unique_ptr<State> state_;
  Limits limits_;
};

}  // namespace sagabox::outbox
