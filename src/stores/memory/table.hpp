#pragma once

#include "stores/memory/fresh_lane.hpp"
#include "stores/memory/id_index.hpp"
#include "stores/memory/rows.hpp"

#include <sagabox/spi/outbox_admin_store.hpp>
#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/spi/transaction.hpp>
#include <sagabox/stores/memory.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::memory {

/// Consecutive sequences that one insert has drawn.
struct Drawn {
  Sequence first{};
  std::uint64_t count = 0;
};

/// The bytes that a read may still return; the first row always fits.
class ReadBudget {
 public:
  explicit ReadBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  bool admit(std::size_t bytes) {
    if (any_ && bytes > bytes_max_ - std::min(bytes_max_, bytes_)) {
      spent_ = true;
      return false;
    }
    any_ = true;
    bytes_ += bytes;
    return true;
  }
  /// A row did not fit, so the read ends.
  [[nodiscard]] bool spent() const noexcept { return spent_; }

 private:
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  bool any_ = false;
  bool spent_ = false;
};

/// The rows of one outbox table. Not thread-safe; the time is a parameter.
class Table {
 public:
  explicit Table(std::uint16_t shards);

  /// A copy of the committed rows, without those of open transactions.
  [[nodiscard]] std::unique_ptr<Table> committed_copy() const;

  /// Inserts all or none. Pass `drawn` to `publish` or `discard` later.
  Result<std::vector<Written>> insert(TransactionId writer,
                                      std::span<const std::shared_ptr<const Message>> messages,
                                      WallTime now, Drawn& drawn);
  /// The writer committed. `publish_done` follows its last insert.
  void publish(Drawn drawn);
  void publish_done();
  /// The writer rolled back.
  void discard(Drawn drawn);

  spi::ReadReply::Part read(const spi::Range& range, ReadBudget& budget,
                            std::vector<spi::Row>& out) const;
  spi::ReadReply::Part read_due(const spi::DueRange& range, WallTime now, ReadBudget& budget,
                                std::vector<spi::Row>& out) const;
  [[nodiscard]] spi::RetryingKeysReply read_retrying_keys(Shard shard, Sequence after,
                                                          std::uint32_t rows_max) const;

  /// The messages that a settle releases, to be freed after the lock is released.
  using Released = std::vector<std::shared_ptr<const Message>>;
  /// Returns false if there is no such pending row. The caller has checked the fence.
  bool settle(const spi::Settlement& item, WallTime now, bool retain_done, Released& released);

  [[nodiscard]] spi::TableStats stats(WallTime now) const;
  [[nodiscard]] std::vector<Inspected> inspect() const;
  bool corrupt(Sequence sequence);
  /// Corrupts the row: removes it from the lane that it is read from, but not from its own state.
  bool misplace(Sequence sequence);

  /// A committed row; null if there is none or it is not committed yet.
  [[nodiscard]] const Slot* row(Sequence sequence) const noexcept;
  /// Every committed row that has this id, newest first.
  [[nodiscard]] std::vector<Sequence> find(const MessageId& id) const;
  /// Whether another message with the row's tenant and id is pending. If so, the row, which has
  /// ended, cannot become pending.
  [[nodiscard]] bool is_pending_again(Sequence sequence) const;
  struct Selection {
    std::vector<Sequence> rows;
    bool exhausted = true;  ///< nothing more matches
  };
  /// Matching rows of one state above `after`, by sequence.
  [[nodiscard]] Selection select(MessageState state, const MessageFilter& filter, Sequence after,
                                 std::uint32_t rows_max) const;
  /// The number of matching rows, and the last sequence of them.
  struct Extent {
    std::uint64_t rows = 0;
    Sequence last{};
  };
  [[nodiscard]] Extent extent(MessageState state, const MessageFilter& filter) const;
  /// Pending rows that no read returns.
  [[nodiscard]] std::vector<spi::Stray> strays(std::uint32_t rows_max) const;

  /// What an operator does to a row; the caller has checked that its state allows it.
  void replay(Sequence sequence, TransactionId writer, WallTime now, bool as_new);
  void quarantine(Sequence sequence, const std::string& note, WallTime now);
  void release(Sequence sequence, WallTime now);
  void purge(Sequence sequence, Released& released);

 private:
  using Due = std::pair<WallTime, Sequence>;
  struct ShardLanes {
    std::array<FreshLane, spi::lane_count> fresh;
    std::set<Due> waiting;
    std::set<Sequence> retrying;  // rows with a key that wait for a retry
  };

  /// The row whose duplicate the message would be.
  [[nodiscard]] std::optional<Sequence> known(const Message& message) const;
  void fill(Slot& slot, Sequence sequence, TransactionId writer,
            const std::shared_ptr<const Message>& message, WallTime now) const;
  [[nodiscard]] spi::Row row_of(Sequence sequence, const Slot& slot) const;
  /// Removes the row from the lane it is read from.
  void leave_lane(Sequence sequence, Slot& slot);
  void enter_waiting(Sequence sequence, Slot& slot, WallTime due);
  void finish(Sequence sequence, Slot& slot, WallTime now, bool retain, Released& released);
  void bury(Sequence sequence, Slot& slot, SlotState state, WallTime now);
  /// Calls `visit(sequence, slot)` for matching rows in ascending order, until it returns false.
  template <class Visit>
  void each_fitting(MessageState state, const MessageFilter& filter, Sequence after,
                    Visit&& visit) const;
  [[nodiscard]] std::uint64_t& count_of(SlotState state);
  [[nodiscard]] const std::uint64_t& count_of(SlotState state) const;
  [[nodiscard]] bool in_lane(Sequence sequence, const Slot& slot) const;

  std::uint16_t shards_;
  std::uint64_t next_sequence_ = 1;
  Rows rows_;
  IdIndex ids_{rows_};
  std::vector<ShardLanes> lanes_;
  std::vector<FreshLane*> unmerged_;
  spi::TableStats counts_{};
};

}  // namespace sagabox::memory
