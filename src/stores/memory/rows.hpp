#pragma once

#include <sagabox/message.hpp>
#include <sagabox/records.hpp>
#include <sagabox/spi/outbox_store.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::memory {

enum class SlotState : std::uint8_t {
  empty,
  open,  ///< written by a transaction that has not ended; not visible to others
  pending,
  done,
  dead,
  quarantined,
};

/// Data that few rows have, kept out of the slot. Never changed once shared: see `amend`.
struct FailureState {
  std::optional<Code> code;  ///< of the last failure
  std::string error;
  std::string decode_error;
  std::string tenant;  ///< if the row cannot be decoded
  std::string note;    ///< why it is quarantined
  std::uint32_t replays = 0;
  std::vector<FailedAttempt> history;
  /// The result of attempts up to this one is final: another failure with such a number is not
  /// recorded.
  std::uint32_t failed_for_good = 0;
};

/// A row without its sequence, which its position implies.
struct Slot {
  MessageId id;
  SlotState state = SlotState::empty;
  spi::Lane lane{};
  bool waits = false;  ///< in the waiting lane, or will be when committed
  bool has_key = false;
  bool retrying = false;  ///< waits because it failed
  Shard shard{};
  std::uint32_t attempts = 0;
  std::uint32_t settled = 0;
  TargetsDone targets_done{};
  std::uint32_t bytes = 0;
  TransactionId writer{};
  WallTime written_at{};
  /// For a waiting row, when it is due; for a done, dead or quarantined one, when it ended.
  WallTime due{};
  std::uint64_t key_hash = 0;
  Sequence older{};  ///< the next older row that has the same id; 0: there is none
  std::shared_ptr<const Message> message;
  std::shared_ptr<const FailureState> failure_state;

  [[nodiscard]] bool pending() const noexcept { return state == SlotState::pending; }
  /// True if it is read by sequence, not by time.
  [[nodiscard]] bool fresh() const noexcept { return pending() && !waits; }
};

/// Slots by sequence. Sequences are dense, so a row is found by its index in chunks of slots; a
/// chunk is freed when its last row is gone.
class Rows {
 public:
  [[nodiscard]] Slot* find(Sequence sequence) noexcept;
  [[nodiscard]] const Slot* find(Sequence sequence) const noexcept;

  /// Rows are read in the order of a lane, which the processor cannot predict: these functions
  /// prefetch the data that `find`, and then a reader of the message, will need soon.
  void expect(Sequence sequence) const noexcept;
  void expect_message(Sequence sequence) const noexcept;

  /// Returns the empty slot of a sequence that has none yet.
  Slot& create(Sequence sequence);
  void erase(Sequence sequence);

  /// These keep `oldest_pending` cheap: call them whenever a row becomes pending or stops being so.
  void pending_added(Sequence sequence);
  void pending_removed(Sequence sequence);
  [[nodiscard]] const Slot* oldest_pending() const;

  /// Calls `visit(sequence, slot)` for every non-empty row, in ascending order.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      if (!chunks_[c]) continue;
      for (std::size_t s = 0; s < chunk_slots; ++s) {
        const Slot& slot = chunks_[c]->slots[s];
        if (slot.state != SlotState::empty) visit(Sequence{c * chunk_slots + s}, slot);
      }
    }
  }

  /// The same from above `after`, until `visit` returns false.
  template <class Visit>
  void each_after(Sequence after, Visit&& visit) const {
    const std::size_t first = after.value / chunk_slots;
    for (std::size_t c = first; c < chunks_.size(); ++c) {
      if (!chunks_[c]) continue;
      const std::size_t begin = c == first ? after.value % chunk_slots + 1 : 0;
      for (std::size_t s = begin; s < chunk_slots; ++s) {
        const Slot& slot = chunks_[c]->slots[s];
        if (slot.state == SlotState::empty) continue;
        if (!visit(Sequence{c * chunk_slots + s}, slot)) return;
      }
    }
  }

 private:
  static constexpr std::size_t chunk_slots = 512;
  struct Chunk {
    std::array<Slot, chunk_slots> slots;
    std::uint32_t used = 0;
    std::uint32_t pending = 0;
  };

  [[nodiscard]] Chunk* chunk_of(Sequence sequence) const noexcept {
    const auto index = sequence.value / chunk_slots;
    return index < chunks_.size() ? chunks_[index].get() : nullptr;
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::unique_ptr<Chunk> spare_;  // all its slots are empty
  /// No chunk below has a pending row.
  mutable std::size_t oldest_chunk_ = 0;
};

}  // namespace sagabox::memory
