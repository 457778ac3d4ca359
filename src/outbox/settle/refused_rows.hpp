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

/// Rows whose single result the store refuses.
///
///   parking ──park stored──▶ gone (quarantined)
///      │ park refused
///      ▼                due
///   held back ◀──────▶ trying ──result stored──▶ gone
///
/// A held back row stays pending in the table and in hand in its shard, so that it is not
/// dispatched again in this tenure. At most `rows_max` of them are kept and tried again; for the
/// others, only the tracker of their shard keeps the sequence until the tenure ends. A row that
/// failed for a temporary reason replaces one that was refused. Changed by one thread, read by any.
class RefusedRows {
 public:
  static constexpr std::size_t rows_max_default = 10'000;
  static constexpr Duration retry_min = std::chrono::seconds(5);
  static constexpr Duration retry_max = std::chrono::minutes(10);

  explicit RefusedRows(std::size_t rows_max = rows_max_default) : rows_max_(rows_max) {}

  /// A single result to be stored.
  struct Row {
    WorkerId owner;
    spi::Fence fence{};
    Settling result;
  };

  /// The row's result was refused; its quarantine is tried next.
  void park(Row row, Error why);
  /// Neither the result nor the quarantine could be stored. `row` is used if the row is not known
  /// yet. It is tried again after a delay that doubles each time. `refused`: the quarantine was
  /// refused permanently, too; else it failed for a temporary reason.
  enum class Held : std::uint8_t { first, again, forgotten };
  Held keep_refused(Row row, Error why, BootTime now, bool refused);
  /// Call it before `keep_refused` of a row that is not refused: removes a refused row if there is
  /// no room. Returns the removed row; nullopt if there is room, or no refused row waits.
  std::optional<RefusedResult> make_room(Shard shard, Sequence sequence);

  /// Returns the next due row to be tried; nullopt if none is due.
  std::optional<Row> next(BootTime now);
  /// When the next is due; BootTime::max() if none is.
  [[nodiscard]] BootTime due() const;
  /// Makes all rows due now, because the cause may be gone.
  void retry_all(BootTime now);

  /// The state of a row before it was stored; `stored` returns nullopt if the row is not known.
  struct Known {
    bool held_back = false;
    bool blocks_key = false;  ///< its result was a retry
  };
  std::optional<Known> stored(Shard shard, Sequence sequence);
  /// How often the row was held back.
  [[nodiscard]] std::uint32_t tries(Shard shard, Sequence sequence) const;
  [[nodiscard]] bool held_back(Shard shard, Sequence sequence) const;

  /// The shards with such rows, and the tenures of these rows.
  [[nodiscard]] std::vector<std::pair<Shard, std::uint32_t>> shards() const;
  /// Removes the rows of a shard that is released or lost; returns how many were held back. `lost`:
  /// also removes rows that are being tried.
  std::size_t drop(Shard shard, bool lost);

  [[nodiscard]] bool empty() const;
  /// The number of rows held back, including those that are not kept.
  [[nodiscard]] std::uint64_t count() const;
  /// The first `rows_max` kept rows, ordered by shard and sequence.
  [[nodiscard]] std::vector<RefusedResult> list(std::size_t rows_max) const;
  [[nodiscard]] std::optional<RefusedResult> find(Sequence sequence) const;

 private:
  using Key = std::pair<Shard, Sequence>;
  struct Entry {
    Row row;
    Error why;
    std::uint32_t tries = 0;
    bool held = false;     ///< it is held back; being tried if it is not in `due_`
    bool refused = false;  ///< see `keep_refused`
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
