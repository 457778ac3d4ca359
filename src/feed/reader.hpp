#pragma once

#include "feed/forward_reader.hpp"
#include "feed/full_pass.hpp"
#include "feed/read_schedule.hpp"
#include "feed/tracker.hpp"

#include <sagabox/id.hpp>
#include <sagabox/spi/feed.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace sagabox::feed {

struct ReaderOptions {
  Duration poll_interval = std::chrono::milliseconds(100);
  Duration full_pass_interval_min = std::chrono::seconds(30);
  /// True: rows stay in the table when they are done; the owner stores `Reader::position`, and
  /// there are no full passes. False: rows are deleted when they are done.
  bool rows_stay = false;
};

/// The origin of a row.
struct RowPlace {
  Shard shard{};
  Sequence sequence{};
  std::uint32_t tenure = 0;  ///< counts the periods in which this process owned the shard
};

/// One read to make now: of `ranges`, in one call of the store.
struct ReadPlan {
  struct Page {
    bool full_pass = false;
    std::uint32_t tenure = 0;
    ReadTicket ticket{};
  };
  std::vector<spi::FeedRange> ranges{};
  std::vector<Page> pages{};  ///< one for each range
  std::uint32_t rows_max = 0;
  BootTime begun{};
};

template <class Row>
struct TakenRows {
  struct Taken {
    Row row;
    RowPlace place;
  };
  std::vector<Taken> rows;         ///< ascending within each shard
  std::uint32_t late = 0;          ///< rows found below the position
  std::uint32_t by_full_pass = 0;  ///< rows that only a full pass found
};

/// Reads the shards of a feed that this process owns. Each committed row is taken once, whatever
/// the order of commits. If a transaction ended before another one got its sequence, its row is
/// taken before the row of the other one (decision 002). Pure: no store, clock or thread.
///
///     if (auto plan = reader.plan(now, room)) {
///       auto reply = store.read(feed, plan->ranges, bytes_max);
///       if (!reply.ok()) reader.failed(*plan, now);
///       else for (auto& [row, place] : reader.apply(*plan, std::move(*reply), now).rows) …
///     } else {
///       store.wait(feed, reader.next(now) - now);
///       reader.wake();
///     }
///
/// Rows are in hand until they are `settled` or `released`. One read at a time; not thread-safe
/// except for `wake`.
class Reader {
 public:
  Reader(const spi::Capabilities& store, ReaderOptions options);

  /// This process owns the shard from now on. Rows up to `start` are skipped: with `rows_stay`,
  /// `start` is the stored position.
  void acquire(Shard shard, Sequence start = {});
  /// This process no longer owns the shard; its rows are no longer in hand.
  void lose(Shard shard);

  /// nullopt if there is nothing to read before `next`, or no room (`rows_max` is 0).
  [[nodiscard]] std::optional<ReadPlan> plan(BootTime now, std::uint32_t rows_max);
  /// Takes those rows of the reply that are not in hand yet.
  template <class Row>
  TakenRows<Row> apply(const ReadPlan& plan, spi::FeedReply<Row>&& reply, BootTime now);
  /// The read failed; it is repeated after a delay.
  void failed(const ReadPlan& plan, BootTime now);
  /// The reply must not be used: it comes from another timeline.
  void discard(const ReadPlan& plan);

  /// The deletion of the row has committed (`rows_stay`: the row is done). No-op after the tenure
  /// has ended.
  void settled(const RowPlace& place);
  /// The row was not processed; it will be read again. No-op after the tenure has ended.
  void released(const RowPlace& place);

  /// With `rows_stay`: every row up to this is done, and none can be committed there any more.
  [[nodiscard]] Sequence position(Shard shard) const;

  /// Something may have been committed. Safe from any thread.
  void wake() noexcept { schedule_.wake(); }
  /// The earliest time of the next read, unless woken.
  [[nodiscard]] BootTime next(BootTime now) const;
  [[nodiscard]] std::size_t in_hand() const noexcept { return in_hand_; }

 private:
  struct ShardReading {
    std::optional<ForwardReader> forward{};  ///< nullopt: not owned
    std::unique_ptr<Tracker> tracker = make_tracker();
    FullPass full_pass{};
    std::uint32_t tenure = 0;
    bool hungry = true;       ///< the last forward read did not exhaust it
    bool aside_next = false;  ///< the next page is one of the full pass
    std::size_t in_hand = 0;
    std::set<Sequence> taken{};  ///< with `rows_stay`: those in hand
    std::set<Sequence> done{};   ///< with `rows_stay`: above the position

    [[nodiscard]] bool eager() const;
    /// See `Reader::position`.
    [[nodiscard]] Sequence position() const;
    void forget_done();
  };
  /// The state of processing one page.
  struct PageLook {
    const spi::FeedRange& range;
    const ReadPlan::Page& page;
    ShardReading& shard;
    Sequence position;  ///< the position before this page
    Sequence last;
    bool exhausted = false;
  };
  enum class Fate : std::uint8_t { taken, known, no_room };

  [[nodiscard]] ReadPlan::Page plan_page(ShardReading& shard, spi::FeedRange& range,
                                         std::uint32_t share, BootTime now) const;
  void look_after_full_pass(BootTime now, bool backlog);
  /// The shard of a row that is in hand; null if it is not.
  [[nodiscard]] ShardReading* shard_of(const RowPlace& place);
  [[nodiscard]] bool anything_eager() const;
  /// nullopt if its rows must not be processed.
  std::optional<PageLook> begin_page(const ReadPlan& plan, std::size_t part, bool exhausted,
                                     const std::optional<spi::Horizon>& horizon);
  Fate look_at(PageLook& look, Sequence sequence, std::uint32_t room);
  void end_page(PageLook& look, BootTime now);
  void end_read(const ReadPlan& plan, BootTime now, std::size_t taken, std::size_t parts,
                std::uint32_t by_full_pass);

  spi::Capabilities store_;
  ReaderOptions options_;
  std::vector<ShardReading> shards_;
  ReadSchedule schedule_;
  FullPassSchedule full_passes_;
  std::size_t first_ = 0;
  std::size_t in_hand_ = 0;
};

template <class Row>
TakenRows<Row> Reader::apply(const ReadPlan& plan, spi::FeedReply<Row>&& reply, BootTime now) {
  TakenRows<Row> taken;
  auto rows = std::span(reply.rows);
  for (std::size_t part = 0; part < reply.parts.size(); ++part) {
    const auto mine = rows.first(reply.parts[part].rows);
    rows = rows.subspan(mine.size());
    auto look = begin_page(plan, part, reply.parts[part].exhausted, reply.horizon);
    if (!look) continue;
    for (auto& row : mine) {
      const auto room = plan.rows_max - static_cast<std::uint32_t>(taken.rows.size());
      const Sequence sequence = row.sequence;
      const auto fate = look_at(*look, sequence, room);
      if (fate == Fate::no_room) break;
      if (fate == Fate::known) continue;
      if (look->page.full_pass) {
        ++taken.by_full_pass;
      } else if (sequence < look->position) {
        ++taken.late;
      }
      taken.rows.push_back({std::move(row), {look->range.shard, sequence, look->page.tenure}});
    }
    end_page(*look, now);
  }
  end_read(plan, now, taken.rows.size(), reply.parts.size(), taken.by_full_pass);
  return taken;
}

}  // namespace sagabox::feed
