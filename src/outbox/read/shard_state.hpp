#pragma once

#include "feed/forward_reader.hpp"
#include "feed/full_pass.hpp"
#include "feed/tracker.hpp"
#include "flow/passed_over.hpp"
#include "outbox/dispatch/orphans.hpp"
#include "outbox/dispatch/room.hpp"
#include "outbox/entry.hpp"
#include "outbox/read/blocked_keys_check.hpp"
#include "outbox/read/key_order.hpp"
#include "outbox/read/shares.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/owner_view.hpp>
#include <sagabox/spi/gate.hpp>
#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/spi/ownership_store.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::outbox {

/// The memory that a shard may use for keys that are not tracked exactly.
struct KeyMemory {
  /// For keys behind closed classes; see PassedOver.
  std::size_t passed_bytes_max = flow::PassedOver::key_bytes_default;
  /// For keys above `blocked_keys_max` whose head waits for a retry; see KeyOrder.
  std::size_t overflow_bytes_max = std::size_t{1} << 20U;
};

/// The purpose of a read.
enum class Purpose : std::uint8_t {
  forward,   ///< new rows, and rows that committed late below the position
  catch_up,  ///< rows of a class that has reopened
  review,    ///< skipped rows, again: finds which keys still wait
  safety,    ///< all pending rows, page by page: finds rows that the other reads missed
};

struct PlannedRange {
  spi::Range range;
  Purpose purpose = Purpose::forward;
  std::uint32_t tenure = 0;
  bool probe = false;  ///< few rows are expected
  /// The number of processed reads of due rows when it was planned.
  std::uint32_t due_reads = 0;
  /// The number of checks of blocked keys that had begun when it was planned.
  std::uint32_t key_checks = 0;
};

/// A settlement to be stored.
struct Settling {
  spi::Settlement settlement;
  std::uint32_t tenure = 0;
  /// It comes from a dispatch and holds one of the `unsettled_max` places.
  bool holds_place = true;
  /// A replayed message that becomes dead again is not counted as dead twice.
  bool replayed = false;
  /// The counters of its topic; null if there is no listener.
  struct TopicMetrics* figures = nullptr;
  /// The message if it became dead; null if it could not be decoded.
  std::shared_ptr<const Message> dead{};
};

/// The state of one shard while this process owns it: read positions, rows in hand, the order of
/// keys, results to be settled. Pure: no store, no clock, no thread. The relay locks it.
class ShardState {
 public:
  struct Settings {
    spi::Capabilities store;
    HeadPolicy head_policy = HeadPolicy::block;
    std::uint32_t attempts_max = 10;
    std::uint32_t chain_max = 64;
    std::uint32_t blocked_keys_max = 100'000;  ///< keys whose blocking message is tracked
    KeyMemory key_memory{};
    /// The number of rows that are dispatched cautiously after an unclean take-over; at least as
    /// many as a process can have in flight.
    std::uint32_t cautious_rows = 2048;
    Duration skip_recent{};
    const spi::Gate* gate = nullptr;
  };

  ShardState(Shard shard, const Settings& settings, Room& room,
             std::unique_ptr<feed::Tracker> tracker);

  enum class Phase : std::uint8_t {
    absent,
    loading,  ///< owned, but the keys that wait for a retry are not loaded yet
    active,
    draining,  ///< nothing new starts; running messages end and are settled
  };
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] std::uint32_t tenure() const noexcept { return tenure_; }
  [[nodiscard]] Epoch epoch() const noexcept { return epoch_; }

  void acquire(const spi::OwnedShard& shard);
  /// The start of the next page of retrying keys.
  [[nodiscard]] Sequence keys_after() const noexcept { return keys_after_; }
  void keys_loaded(std::span<const spi::RetryingKey> keys, bool exhausted);

  /// Begins a check of blocked keys, because operators may have removed messages that keys wait
  /// for.
  void check_blocked_keys();
  /// nullopt if there is no page to read.
  [[nodiscard]] std::optional<BlockedKeysPage> blocked_keys_page() const;
  /// Processes a page of the check. Returns true if some keys were resumed. Ignored if another
  /// check has begun since, because the page does not contain the keys blocked in the meantime.
  bool blocked_keys_seen(const BlockedKeysPage& page, std::span<const spi::RetryingKey> keys,
                         bool exhausted);

  /// Begins the hand-over, and takes back attempts that were stored for dispatches not begun.
  /// Returns the number of settlements that this added.
  std::size_t drain();
  /// This process no longer owns the shard. Running handlers continue as orphans: their rows and
  /// keys are not dispatched again in this process before they return. Returns the number of places
  /// that its settlements held.
  std::size_t drop();
  /// Whether no message runs and no result waits to be settled.
  [[nodiscard]] bool idle() const noexcept { return running_.empty() && unsettled_ == 0; }

  feed::Tracker& tracker() { return *tracker_; }

  /// Adds the ranges to read next. `low_first` reverses the order of the lanes.
  void plan(BootTime now, const Shares& shares, bool low_first, std::vector<PlannedRange>& out);
  /// Starts a pass over all pending rows.
  void begin_safety_pass();
  [[nodiscard]] bool in_safety_pass() const noexcept;
  /// Adds the lanes with more rows than fit, including those that cannot continue now.
  void add_hungry(Shares& shares) const;
  /// Whether there is more to read than new rows.
  [[nodiscard]] bool eager() const;

  /// A message that became dead without an attempt; its settlement was added.
  struct Buried {
    spi::Settlement settlement;
    std::shared_ptr<const Message> message;  ///< null if it could not be decoded
  };
  /// The result of processing the rows of a page.
  struct Taken {
    std::vector<Entry> ready;
    std::vector<Entry> cautious;  ///< to be dispatched after their attempt is stored
    std::vector<Buried> buried;
    std::uint32_t admitted = 0;
    std::uint32_t late = 0;  ///< found below the position
    std::uint32_t due = 0;   ///< admitted due rows that had waited for this page
    /// The size of a message for which there was no room; the rest of its page was not taken
    /// either.
    std::optional<std::size_t> cut_at;
  };
  /// Processes a page. `exhausted`: the range contains no more rows.
  void take_page(const PlannedRange& page, std::span<spi::Row> rows, bool exhausted,
                 const std::optional<spi::Horizon>& horizon, BootTime now, WallTime wall_now,
                 Taken& taken);

  [[nodiscard]] spi::DueRange due_range(std::uint32_t rows_max) const;
  /// A row that does not block its key is kept until the next forward page, which shows whether
  /// earlier messages of the key must come first.
  void take_due(std::span<spi::Row> rows, bool exhausted, Taken& taken);
  /// Whether the next due read continues an unfinished pass over the waiting rows.
  [[nodiscard]] bool due_pass_open() const noexcept { return due_after_.value != 0; }
  /// Whether due rows wait for a forward page.
  [[nodiscard]] bool keeps_due() const noexcept { return !due_kept_.empty(); }

  /// Hot path: reserves a row written in this process. Returns false if the poller must read it.
  bool reserve(Sequence sequence, BootTime expires);
  /// The transaction has committed. Returns false if a read took the row first, or the shard is not
  /// owned.
  bool claim(Sequence sequence, std::uint32_t tenure);
  void cancel(Sequence sequence, std::uint32_t tenure);

  /// Starts a dispatch and returns its epoch. nullopt if the message must not be dispatched: it
  /// belongs to an earlier tenure, the shard is being handed over, or the message's class was
  /// closed (a cautious message is dispatched anyway, because its attempt is stored).
  std::optional<Epoch> start(Entry& entry);
  /// The result of `complete`, with the next message of the key. If the tenure has ended, nothing
  /// is stored and `accepted` is false.
  struct Completed {
    bool accepted = false;
    /// There are rows to read of which the reader has not been notified.
    bool read_on = false;
    std::optional<Entry> next;
  };
  Completed complete(const Entry& entry, Settling&& settling);
  /// A started message could not be sent now: it waits with its class, and nothing is stored. Not
  /// for cautious messages, because their attempt is stored. `accepted` is false: it needs no place
  /// any more.
  Completed requeue(const Entry& entry);
  /// Adds a settlement that is not the result of a handler: an attempt, or a row that cannot be
  /// decoded.
  void settle_beside(Settling&& settling);
  /// Adds a settlement with the attempt of a cautious message before it starts. Returns false if
  /// the message is void, the shard is being handed over, or the message's class was closed.
  bool spend_ahead(Entry& entry);
  /// The attempt of a cautious message could not be stored: the message is parked without being
  /// started, and its key waits until that is settled. Returns false if the message is void, or its
  /// shard is being handed over.
  bool park_unstarted(const Entry& entry, Settling&& settling);
  /// Returns a message that was not dispatched; it is read again.
  void abandon(const Entry& entry);

  /// Removes up to `rows_max` settlements, in their order, and appends them to `out`.
  void collect(std::size_t rows_max, std::vector<Settling>& out);
  /// The settlement was stored. No-op after the tenure has ended.
  void settled(const spi::Settlement& settlement, std::uint32_t tenure);
  /// The store refuses the result of a row. The row stays in hand, so that it is not dispatched
  /// again in this tenure, but a hand-over does not wait for it. No-op after the tenure has ended.
  void keep_refused(std::uint32_t tenure);
  /// The result of a row that was held back was stored.
  void settled_late(const spi::Settlement& settlement, std::uint32_t tenure);

  [[nodiscard]] std::size_t settlements_waiting() const noexcept { return settlements_.size(); }
  [[nodiscard]] std::size_t blocked_keys() const noexcept { return keys_.blocked(); }
  /// The memory used for keys behind closed classes.
  [[nodiscard]] std::size_t passed_key_bytes() const noexcept;
  [[nodiscard]] std::size_t tracked() const { return tracker_->size(); }
  [[nodiscard]] bool cautious() const noexcept { return cautious_left_ > 0; }

  /// A class may have been opened again.
  void reopen();

  /// The state of a pending message of this shard; nullopt if the shard is not active.
  [[nodiscard]] std::optional<OwnerView> owner_view(const Message& message,
                                                    Sequence sequence) const;

 private:
  struct LaneState {
    feed::ForwardReader reader;
    flow::PassedOver passed;
    feed::FullPass safety{};
    Stride stride{};
    bool hungry = true;        ///< the last read did not exhaust it
    bool aside_next = false;   ///< the next page is a catch-up, review or safety page
    bool resting = false;      ///< the last read ended at a row within `skip_recent`
    bool sweeping = false;     ///< the last safety page had new rows, and there are more
    bool review_next = false;  ///< the review has its turn before the next catch-up read
    BootTime review_at{};
    /// One message of each skipped class, for display.
    std::map<spi::ClassId, OwnerView::PassedOver> examples{};
    static constexpr std::size_t examples_kept_min = 32;
    std::size_t examples_kept = examples_kept_min;  ///< their number after the last cleanup
    std::optional<BootTime> review_since;
  };
  enum class Fate : std::uint8_t { ready, cautious, kept, passed, no_room };
  /// The read that returned a row.
  struct Shown {
    LaneState* lane = nullptr;  ///< null: a read of due rows
    Sequence page_after{};
    std::uint32_t key_checks = 0;  ///< of the page
    bool review = false;
    bool unseen = false;  ///< no page has returned the row before
  };

  enum class Turn : std::uint8_t { now, sample, later };

  Fate admit(spi::Row& row, const Shown& shown, Entry& entry, Taken& taken);
  void keep(Fate fate, Entry entry, Taken& taken);
  Turn turn_of(const spi::Row& row, const Shown& shown);
  /// Whether a fresh message goes back to the shard that it was written to, because this process
  /// may have claimed it from one that has a route for it. The dispatcher releases the claim.
  [[nodiscard]] bool claim_ends(const Message& message, spi::ClassId gated) const;
  Fate place(Entry& entry, LaneState* lane);
  /// If the class was closed while the message was queued, returns true, and the message waits with
  /// its class.
  bool defer_if_closed(Entry& entry);
  void no_longer_running(Sequence sequence);
  void forget_settled(const spi::Settlement& settlement);
  void defer_behind(const Entry& entry, spi::ClassId gated);
  void requeue_row(const Message& message, Sequence sequence, LaneState& lane);
  void bury(const spi::Row& row, Taken& taken);
  /// A row that was read after `key_checks` checks is skipped now, and keys wait behind it.
  void passed_over_since(std::uint32_t key_checks);
  /// Blocks the key of `head` until its retry; `waiting` are the messages behind it.
  void block(const Entry& head, std::vector<Entry> waiting);
  /// Skips these messages; they are read again when the class opens, or when their key is resumed.
  void pass_over(std::vector<Entry> waiting, std::optional<spi::ClassId> behind = std::nullopt);
  /// Returns whether its row must be read again.
  bool orphan_returned(const Entry& entry);
  void seen_once(std::uint8_t what);
  bool resume_key(std::uint64_t key_hash);
  /// Whether the lane has more rows to read and is not resting.
  [[nodiscard]] bool goes_on(std::size_t lane) const;
  /// The due rows that were kept for this page, ordered by sequence.
  std::vector<spi::Row> kept_due_for(const PlannedRange& page);
  /// Takes a kept due row; all rows below it have been processed.
  void take_kept_due(spi::Row& row, Taken& taken);
  /// Ends a pass over the due rows if none of them is kept any more.
  void due_looked_at();
  void begin_keys_check();
  /// Begins to rebuild the overflow of blocked keys if that is due.
  void look_after_overflow(BootTime now);
  /// Begins a review of skipped rows if that is due.
  static void look_after_review(LaneState& lane, BootTime now);
  [[nodiscard]] spi::ClassId overflow_class() const;
  void defer(LaneState& lane, spi::ClassId gated, const Message& message, Sequence sequence);
  [[nodiscard]] LaneState& lane_of_keys() {
    return lanes_[static_cast<std::size_t>(Priority::normal)];
  }
  [[nodiscard]] static Shares::Progress progress(const LaneState& lane) {
    return {.after = lane.reader.come_to(), .stride = lane.stride.value()};
  }
  LaneState& lane_for(const Message& message) { return lanes_[spi::lane_of(message).value]; }

  Shard shard_;
  Settings settings_;
  Room& room_;
  Phase phase_ = Phase::absent;
  Epoch epoch_{};
  std::uint32_t tenure_ = 0;

  std::unique_ptr<feed::Tracker> tracker_;
  KeyOrder keys_;
  std::vector<LaneState> lanes_;
  Sequence keys_after_{};
  BlockedKeysCheck keys_check_;
  bool check_after_loading_ = false;
  bool check_again_ = false;  // a key is blocked again by a row that the last check ignored
  std::uint32_t key_checks_ = 0;
  WallTime due_after_time_{};
  Sequence due_after_{};
  std::vector<spi::Row> due_kept_;
  std::uint32_t due_reads_ = 0;
  bool due_pass_ended_ = false;   // the pass has ended, but rows of it may still be kept
  bool claim_ended_ = false;      // see `claim_ends`; on the current page
  BootTime others_wait_until_{};  // until then no rows of other shards are claimed
  bool due_missed_ = false;       // rows of this pass were dropped without being taken
  /// Keys of the overflow wait behind one of two classes: while one class resumes, the keys that
  /// are still blocked wait behind the other.
  std::size_t overflow_ = 0;
  BootTime recount_at_{};
  std::optional<BootTime> recount_since_;

  std::uint32_t cautious_left_ = 0;
  std::vector<Entry> spent_ahead_;  // cautious messages not started yet; only a few
  std::uint8_t seen_once_ = 0;      // one bit for each lane, and one for the waiting rows

  struct Running {
    Sequence sequence;
    const Message* message;  ///< of the running entry
  };
  std::vector<Running> running_;  // messages in handlers and in the sink
  std::size_t unsettled_ = 0;
  std::vector<Settling> settlements_;

  Orphans orphans_;
};

}  // namespace sagabox::outbox
