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

/// How much memory a shard may take for keys that are not known by name.
struct KeyMemory {
  /// Keys behind classes that may not go; see PassedOver.
  std::size_t passed_bytes_max = flow::PassedOver::key_bytes_default;
  /// Keys beyond `blocked_keys_max` whose head waits for a retry; see KeyOrder.
  std::size_t overflow_bytes_max = std::size_t{1} << 20U;
};

/// What a read is for.
enum class Purpose : std::uint8_t {
  forward,   ///< what has come since the last read, and what committed late behind it
  catch_up,  ///< a deferred class that may go again
  review,    ///< what was passed over, once more: finds which keys still wait
  safety,    ///< everything pending, page by page: finds what no rule above did
};

struct PlannedRange {
  spi::Range range;
  Purpose purpose = Purpose::forward;
  std::uint32_t tenure = 0;
  bool probe = false;  ///< nothing much is expected
  /// How many reads of due rows had been looked at when it was planned.
  std::uint32_t due_reads = 0;
  /// How many checks of what keys wait for had begun when it was planned.
  std::uint32_t key_checks = 0;
};

/// A settlement on its way to the store.
struct Settling {
  spi::Settlement settlement;
  std::uint32_t tenure = 0;
  /// It came from a dispatch and holds one of the `unsettled_max` places.
  bool holds_place = true;
  /// A replayed message that dies again has been counted as dead before.
  bool replayed = false;
  /// Counts for its topic; null where no listener is.
  struct TopicFigures* figures = nullptr;
  /// Of a dead one, where it could be read.
  std::shared_ptr<const Message> dead{};
};

/// Everything known about one shard while it is ours: what was read up to where, what is in hand,
/// whose turn it is in each key, what waits to be settled. Decides, does nothing: no store, no
/// clock, no thread. The relay locks it.
class ShardState {
 public:
  struct Settings {
    spi::Capabilities store;
    HeadPolicy head_policy = HeadPolicy::block;
    std::uint32_t attempts_max = 10;
    std::uint32_t chain_max = 64;
    std::uint32_t blocked_keys_max = 100'000;  ///< keys whose blocker is known by name
    KeyMemory key_memory{};
    /// At least what a process can have in flight: after an unclean take-over so many rows are
    /// dispatched cautiously.
    std::uint32_t cautious_rows = 2048;
    Duration skip_recent{};
    const spi::Gate* gate = nullptr;
  };

  ShardState(Shard shard, const Settings& settings, Room& room,
             std::unique_ptr<feed::Tracker> tracker);

  enum class Phase : std::uint8_t {
    absent,
    loading,  ///< ours, but it is not known yet which keys wait for a retry
    active,
    draining,  ///< nothing new; what runs ends and is settled
  };
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] std::uint32_t tenure() const noexcept { return tenure_; }
  [[nodiscard]] Epoch epoch() const noexcept { return epoch_; }

  void acquire(const spi::OwnedShard& shard);
  /// Where the next page of retrying keys begins.
  [[nodiscard]] Sequence keys_after() const noexcept { return keys_after_; }
  void keys_loaded(std::span<const spi::RetryingKey> keys, bool exhausted);

  /// Operators may have taken messages away that keys wait for: the store is to be asked again.
  void check_blocked_keys();
  /// Nothing: there is nothing to ask.
  [[nodiscard]] std::optional<BlockedKeysPage> blocked_keys_page() const;
  /// What the store shows of it. True: some keys that waited in vain go again. Ignored when
  /// another check has begun since: the page does not know what has been blocked meanwhile.
  bool blocked_keys_seen(const BlockedKeysPage& page, std::span<const spi::RetryingKey> keys,
                         bool exhausted);

  /// Takes back attempts that were written for dispatches not begun. Returns how many settlements
  /// that added.
  std::size_t drain();
  /// No longer ours. What runs goes on as an orphan: its row and key are not touched again in
  /// this process before it returns. Returns how many places its settlements held.
  std::size_t drop();
  /// Nothing runs and nothing waits to be settled.
  [[nodiscard]] bool idle() const noexcept { return running_.empty() && unsettled_ == 0; }

  feed::Tracker& tracker() { return *tracker_; }

  /// Adds what to read next. `low_first` turns the lanes round.
  void plan(BootTime now, const Shares& shares, bool low_first, std::vector<PlannedRange>& out);
  /// Starts a pass over everything pending.
  void begin_safety_pass();
  [[nodiscard]] bool in_safety_pass() const noexcept;
  /// Adds the lanes that have more to read than fits, also those that cannot go on now.
  void add_hungry(Shares& shares) const;
  /// There is more to read than what may come in.
  [[nodiscard]] bool eager() const;

  /// Dead without an attempt; its settlement is on its way.
  struct Buried {
    spi::Settlement settlement;
    std::shared_ptr<const Message> message;  ///< null when it could not be decoded
  };
  /// What became of the rows of a page.
  struct Taken {
    std::vector<Entry> ready;
    std::vector<Entry> cautious;  ///< to be dispatched after their attempt has been written
    std::vector<Buried> buried;
    std::uint32_t admitted = 0;
    std::uint32_t late = 0;  ///< found behind the position
    std::uint32_t due = 0;   ///< of those admitted, due rows that had to wait for this page
    /// There was no room for a message of so many bytes, nor for the rest of its page.
    std::optional<std::size_t> cut_at;
  };
  /// Looks at a page. `exhausted`: the range held no more.
  void take_page(const PlannedRange& page, std::span<spi::Row> rows, bool exhausted,
                 const std::optional<spi::Horizon>& horizon, BootTime now, WallTime wall_now,
                 Taken& taken);

  [[nodiscard]] spi::DueRange due_range(std::uint32_t rows_max) const;
  /// A row with a key that its key does not wait for is kept until the next forward page, which
  /// shows whether earlier messages of the key must go first.
  void take_due(std::span<spi::Row> rows, bool exhausted, Taken& taken);
  /// The next due read goes on in the middle of the waiting rows.
  [[nodiscard]] bool due_pass_open() const noexcept { return due_after_.value != 0; }
  /// Due rows wait for a forward page.
  [[nodiscard]] bool keeps_due() const noexcept { return !due_kept_.empty(); }

  /// Hot path: keeps a place for a row written in this process. False: the poller will find it.
  bool reserve(Sequence sequence, BootTime expires);
  /// The transaction has committed. False: a read took it first, or the shard is not ours.
  bool claim(Sequence sequence, std::uint32_t tenure);
  void cancel(Sequence sequence, std::uint32_t tenure);

  /// A handler is about to run, under the epoch given. Nothing: void, the message belongs to an
  /// earlier tenure, the shard is being handed over, or the message's class has been closed (a
  /// cautious one goes nevertheless: its attempt has been written).
  std::optional<Epoch> start(Entry& entry);
  /// A handler has returned. Gives the next message of the key. Without effect on the store when
  /// the tenure is over (`accepted` false).
  struct Completed {
    bool accepted = false;
    /// There is something to read that the reader does not know of.
    bool read_on = false;
    std::optional<Entry> next;
  };
  Completed complete(const Entry& entry, Settling&& settling);
  /// What was started could not be sent now: it waits with its class, and nothing is written. Not
  /// for cautious ones: their attempt has been. `accepted` is false: it needs no place any more.
  Completed set_back(const Entry& entry);
  /// A settlement that is not the end of a handler: an attempt, a row that cannot be read.
  void settle_beside(Settling&& settling);
  /// Writes the attempt of a cautious message before it starts. False: it is void, the shard is
  /// being handed over, or the message's class has been closed.
  bool spend_ahead(Entry& entry);
  /// The attempt of a cautious message could not be recorded: it is parked without having been
  /// started, and its key waits until that is settled. False: it is void, or is being handed over.
  bool park_unstarted(const Entry& entry, Settling&& settling);
  /// The message is not dispatched after all.
  void give_back(const Entry& entry);

  /// Moves up to `rows_max` settlements out, in the order they came.
  void collect(std::size_t rows_max, std::vector<Settling>& out);
  /// The store has it. Nothing when the tenure is over.
  void settled(const spi::Settlement& settlement, std::uint32_t tenure);
  /// The store refuses its result. The row stays in hand, so that it is not dispatched again in
  /// this tenure, but a hand-over does not wait for it. No-op after the tenure has ended.
  void hold_back(std::uint32_t tenure);
  /// The store has the result of a row that was held back.
  void settled_late(const spi::Settlement& settlement, std::uint32_t tenure);

  [[nodiscard]] std::size_t settlements_waiting() const noexcept { return settlements_.size(); }
  [[nodiscard]] std::size_t blocked_keys() const noexcept { return keys_.blocked(); }
  /// Memory for keys behind classes that may not go.
  [[nodiscard]] std::size_t passed_key_bytes() const noexcept;
  [[nodiscard]] std::size_t tracked() const { return tracker_->size(); }
  [[nodiscard]] bool cautious() const noexcept { return cautious_left_ > 0; }

  /// A class may go again.
  void reopen();

  /// What is known here of a pending message of this shard; nullopt if it is not active.
  [[nodiscard]] std::optional<OwnerView> owner_view(const Message& message,
                                                    Sequence sequence) const;

 private:
  struct LaneState {
    feed::ForwardReader reader;
    flow::PassedOver passed;
    feed::FullPass safety{};
    Stride stride{};
    bool hungry = true;        ///< the last read did not exhaust it
    bool aside_next = false;   ///< a catch-up or safety read has its turn
    bool resting = false;      ///< the last read ended at a row that is too recent
    bool sweeping = false;     ///< the last safety page brought something, and there is more
    bool review_next = false;  ///< before the next catch-up read
    BootTime review_at{};
    /// A message of each class that was passed over, for people.
    std::map<spi::ClassId, OwnerView::PassedOver> examples{};
    static constexpr std::size_t examples_kept_min = 32;
    std::size_t examples_kept = examples_kept_min;  ///< when they were last cleared up
    std::optional<BootTime> review_since;
  };
  enum class Fate : std::uint8_t { ready, cautious, kept, passed, no_room };
  /// Where a row was shown.
  struct Shown {
    LaneState* lane = nullptr;  ///< null: among the due rows
    Sequence page_after{};
    std::uint32_t key_checks = 0;  ///< of the page
    bool review = false;
    bool unseen = false;  ///< no page has shown the row before
  };

  enum class Turn : std::uint8_t { now, sample, later };

  Fate admit(spi::Row& row, const Shown& shown, Entry& entry, Taken& taken);
  void keep(Fate fate, Entry entry, Taken& taken);
  Turn turn_of(const spi::Row& row, const Shown& shown);
  Fate place(Entry& entry, LaneState* lane);
  /// True, and it waits with its class, if that was closed while the message was queued.
  bool put_off(Entry& entry);
  void no_longer_running(Sequence sequence);
  void forget_settled(const spi::Settlement& settlement);
  void set_aside(const Entry& entry, spi::ClassId gated);
  void put_back(const Message& message, Sequence sequence, LaneState& lane);
  void bury(const spi::Row& row, Taken& taken);
  /// A row that was seen when `key_checks` had begun is passed over now, and keys wait behind it.
  void passed_over_since(std::uint32_t key_checks);
  /// The key of `head` waits for its retry; `waiting` stood behind it.
  void block(const Entry& head, std::vector<Entry> waiting);
  /// These are read again: when the class may go, or when their key is resumed.
  void pass_over(std::vector<Entry> waiting, std::optional<spi::ClassId> behind = std::nullopt);
  /// Whether its row is to be read again.
  bool orphan_returned(const Entry& entry);
  void seen_once(std::uint8_t what);
  bool resume_key(std::uint64_t key_hash);
  /// The lane has more to read than fits.
  [[nodiscard]] bool goes_on(std::size_t lane) const;
  /// Due rows that were kept for this page, by sequence.
  std::vector<spi::Row> kept_due_for(const PlannedRange& page);
  /// Everything below it has been looked at.
  void take_kept_due(spi::Row& row, Taken& taken);
  /// A pass over the due rows is at an end when none of them is kept any more.
  void due_looked_at();
  void begin_keys_check();
  /// Whether the overflow of blocked keys is to be counted again.
  void look_after_overflow(BootTime now);
  /// Whether what was passed over is to be read again.
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
  bool check_again_ = false;  // a key waits again for what the last check passed over
  std::uint32_t key_checks_ = 0;
  WallTime due_after_time_{};
  Sequence due_after_{};
  std::vector<spi::Row> due_kept_;
  std::uint32_t due_reads_ = 0;
  bool due_pass_ended_ = false;  // but rows of it may still be kept
  bool due_missed_ = false;      // rows of this pass were let go without having been taken
  /// Keys of the overflow are passed over behind one of two classes: while one is taken up again,
  /// those that are still blocked wait behind the other.
  std::size_t overflow_ = 0;
  BootTime recount_at_{};
  std::optional<BootTime> recount_since_;

  std::uint32_t cautious_left_ = 0;
  std::vector<Entry> spent_ahead_;  // not started yet; a few at a time
  std::uint8_t seen_once_ = 0;      // a bit a lane, and one for the waiting rows

  struct Running {
    Sequence sequence;
    const Message* message;  ///< of the entry that runs
  };
  std::vector<Running> running_;  // handlers, and what a sink has in hand
  std::size_t unsettled_ = 0;
  std::vector<Settling> settlements_;

  Orphans orphans_;
};

}  // namespace sagabox::outbox
