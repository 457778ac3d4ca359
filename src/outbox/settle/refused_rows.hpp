#pragma once

#include "outbox/read/shard_state.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/spi/outbox_store.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sagabox::outbox {

/// Rows whose result the store refuses, each found alone.
///
///   parking ──park stored──▶ gone (quarantined)
///      │ park refused
///      ▼                due
///   held back ◀──────▶ trying ──result stored──▶ gone
///
/// A held back row stays pending in the table and in hand in its shard, so that it is not
/// dispatched again in this tenure. At most `rows_max` of them are remembered and tried again; of
/// the others only the sequence is kept, by the tracker of their shard, until the tenure ends.
/// A row that failed for a reason that passes takes the place of one that was refused. Changed by
/// one thread, read by any.
class RefusedRows {
 public:
  static constexpr std::size_t rows_max_default = 10'000;
  static constexpr Duration retry_min = std::chrono::seconds(5);
  static constexpr Duration retry_max = std::chrono::minutes(10);

  explicit RefusedRows(std::size_t rows_max = rows_max_default) : rows_max_(rows_max) {}

  /// A result on its way to the store, alone.
  struct Row {
    WorkerId owner;
    spi::Fence fence{};
    Settling result;
  };

  /// The row's result was refused; its quarantine is tried next.
  void park(Row row, Error why);
  /// Neither could be stored. `row` counts where it is not known yet. Tried again after a while,
  /// which doubles each time.
  /// `refused`: its quarantine was refused for good, too. Else it failed for a reason that passes.
  enum class Held : std::uint8_t { first, again, forgotten };
  Held hold_back(Row row, Error why, BootTime now, bool refused);
  /// For a row that is not refused, before `hold_back`: forgets a refused one if there is no room.
  /// Returns the forgotten row; nullopt if there is room, or no refused row waits.
  std::optional<RefusedResult> make_room(Shard shard, Sequence sequence);

  /// The next that is due; it is on its way then.
  std::optional<Row> next(BootTime now);
  /// When the next is due; BootTime::max() if none is.
  [[nodiscard]] BootTime due() const;
  /// The cause may be gone: all are due now.
  void retry_all(BootTime now);

  /// How a row that has now been stored was known; nullopt if it was not.
  struct Known {
    bool held_back = false;
    bool blocks_key = false;  ///< its result was a retry
  };
  std::optional<Known> stored(Shard shard, Sequence sequence);
  /// How often it was held back.
  [[nodiscard]] std::uint32_t tries(Shard shard, Sequence sequence) const;
  [[nodiscard]] bool held_back(Shard shard, Sequence sequence) const;

  /// The shards that have such rows, with the tenure they belong to.
  [[nodiscard]] std::vector<std::pair<Shard, std::uint32_t>> shards() const;
  /// Forgets the rows of a shard that is given away or lost; returns how many were held back.
  /// `lost`: also those on their way.
  std::size_t drop(Shard shard, bool lost);

  [[nodiscard]] bool empty() const;
  /// Held back now, forgotten ones included.
  [[nodiscard]] std::uint64_t count() const;
  /// The first `rows_max` that are remembered, by shard and sequence.
  [[nodiscard]] std::vector<RefusedResult> list(std::size_t rows_max) const;
  [[nodiscard]] std::optional<RefusedResult> find(Sequence sequence) const;

 private:
  using Key = std::pair<Shard, Sequence>;
  struct Entry {
    Row row;
    Error why;
    std::uint32_t tries = 0;
    bool held = false;     ///< it has been held back; on its way if it is not in `due_`
    bool refused = false;  ///< see `hold_back`
    BootTime retry_at{};
  };
  struct Forgotten {
    std::uint32_t tenure = 0;
    std::uint64_t rows = 0;
  };
  static RefusedResult shown(const Entry& entry);
  void forget(Shard shard, std::uint32_t tenure);

  const std::size_t rows_max_;
  mutable std::mutex mutex_;
  std::map<Key, Entry> rows_;
  std::set<std::pair<BootTime, Key>> due_;
  std::map<Shard, Forgotten> forgotten_;
  std::size_t held_ = 0;
};

}  // namespace sagabox::outbox
