#include "outbox/read/shard_state.hpp"

#include "outbox/dispatch/unrouted.hpp"
#include "outbox/settle/verdict.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sagabox::outbox {
namespace {

/// The page size for a lane that was exhausted by the last read.
constexpr std::uint32_t rows_probe = 32;
constexpr std::size_t tracked_max = 100'000;
/// After rows without a route were claimed, so long none are claimed from other shards.
constexpr Duration others_rest = std::chrono::seconds(60);
constexpr std::uint8_t seen_all = (1U << (spi::lane_count + 1U)) - 1U;

WallTime available_at(const spi::Row& row) { return std::max(row.written_at, row.due); }

}  // namespace

ShardState::ShardState(Shard shard, const Settings& settings, Room& room,
                       std::unique_ptr<feed::Tracker> tracker)
    : shard_(shard),
      settings_(settings),
      room_(room),
      tracker_(std::move(tracker)),
      keys_({.chain_max = settings.chain_max,
             .blocked_max = settings.blocked_keys_max,
             .overflow_bytes_max = settings.key_memory.overflow_bytes_max}) {}

void ShardState::acquire(const spi::OwnedShard& shard) {
  ++tenure_;
  epoch_ = shard.epoch;
  phase_ = Phase::loading;
  lanes_.clear();
  for (std::uint8_t lane = 0; lane < spi::lane_count; ++lane) {
    lanes_.push_back(
        {.reader = feed::ForwardReader(settings_.store.late_commits, settings_.store.late_window),
         .passed = flow::PassedOver(settings_.key_memory.passed_bytes_max)});
  }
  keys_after_ = {};
  keys_check_.end();
  check_after_loading_ = false;
  check_again_ = false;
  due_after_time_ = {};
  due_after_ = {};
  due_kept_.clear();
  due_pass_ended_ = false;
  due_missed_ = false;
  recount_at_ = {};
  recount_since_.reset();
  cautious_left_ = shard.unclean ? settings_.cautious_rows : 0;
  seen_once_ = 0;
  orphans_.for_each_key(
      [&](std::uint64_t key_hash, Sequence sequence) { keys_.block(key_hash, sequence); });
}

void ShardState::keys_loaded(std::span<const spi::RetryingKey> keys, bool exhausted) {
  if (phase_ != Phase::loading) return;
  for (const auto& key : keys) {
    keys_after_ = key.sequence;
    if (settings_.head_policy != HeadPolicy::block) continue;
    keys_.block(key.key_hash, key.sequence);
    orphans_.found_retrying(key);
  }
  if (!exhausted) return;
  phase_ = Phase::active;
  if (check_after_loading_) begin_keys_check();
}

std::size_t ShardState::drain() {
  if (phase_ == Phase::absent) return 0;
  phase_ = Phase::draining;
  for (const auto& entry : spent_ahead_) {
    settle_beside({.settlement = unspent_attempt(entry), .tenure = tenure_, .holds_place = false});
  }
  return std::exchange(spent_ahead_, {}).size();
}

std::size_t ShardState::drop() {
  if (phase_ == Phase::absent) return 0;
  phase_ = Phase::absent;
  for (const auto& running : running_) {
    orphans_.add(running.sequence, *running.message, tenure_);
  }
  ++tenure_;
  running_.clear();
  unsettled_ = 0;
  const auto places = static_cast<std::size_t>(
      std::count_if(settlements_.begin(), settlements_.end(),
                    [](const Settling& settling) { return settling.holds_place; }));
  settlements_.clear();
  spent_ahead_.clear();
  due_kept_.clear();
  for (const auto& entry : keys_.clear()) room_.release(entry);
  tracker_->clear();
  return places;
}

void ShardState::plan(BootTime now, const Shares& shares, bool low_first,
                      std::vector<PlannedRange>& out) {
  if (phase_ != Phase::active) return;
  // A running check continues: it must still detect rows that were taken in the meantime.
  if (check_again_ && !keys_check_.page()) {
    check_again_ = false;
    begin_keys_check();
  }
  look_after_overflow(now);
  for (std::uint8_t step = 0; step < spi::lane_count; ++step) {
    const auto number = static_cast<std::uint8_t>(low_first ? spi::lane_count - 1 - step : step);
    auto& lane = lanes_[number];
    look_after_review(lane, now);
    const auto share =
        goes_on(number) ? shares.of(spi::Lane{number}, progress(lane)) : shares.even();
    auto page =
        PlannedRange{.range = {.shard = shard_,
                               .lane = spi::Lane{number},
                               .rows_max = lane.hungry ? share : std::min(share, rows_probe)},
                     .tenure = tenure_,
                     .probe = !lane.hungry,
                     .due_reads = due_reads_,
                     .key_checks = key_checks_};
    // Rows known to be missing below the position go first, because another page could return later
    // messages of the same key.
    const bool aside = lane.reader.level() && lane.aside_next;
    const auto catch_up = lane.passed.catch_up_after();
    const auto review = lane.passed.review_after();
    if (aside && review && (lane.review_next || !catch_up)) {
      page.purpose = Purpose::review;
      page.range.after = *review;
      page.range.rows_max = share;
    } else if (aside && catch_up) {
      page.purpose = Purpose::catch_up;
      page.range.after = *catch_up;
      page.range.rows_max = share;
    } else if (aside && lane.safety.after() && !lane.hungry) {
      page.purpose = Purpose::safety;
      page.range.after = *lane.safety.after();
      page.range.rows_max = shares.even();
      page.range.others_too = settings_.store.claims && now >= others_wait_until_;
    } else {
      page.range.after = lane.reader.next_after(now);
      // Rows in hand are returned again below the position and must not fill the page.
      if (page.range.after < lane.reader.position()) {
        page.range.rows_max += static_cast<std::uint32_t>(tracker_->size());
      }
    }
    out.push_back(page);
  }
}

bool ShardState::goes_on(std::size_t lane) const {
  const auto& of = lanes_[lane];
  return of.hungry && !of.resting;
}

void ShardState::begin_safety_pass() {
  if (phase_ != Phase::active) return;
  for (auto& lane : lanes_) lane.safety.begin();
}

bool ShardState::eager() const {
  if (phase_ == Phase::loading) return true;
  if (phase_ != Phase::active) return false;
  if (!due_kept_.empty()) return true;
  return std::ranges::any_of(lanes_, [](const LaneState& lane) {
    if (lane.resting) return false;
    if (lane.sweeping || !lane.reader.level()) return true;
    if (lane.passed.catch_up_after() || lane.passed.review_after()) return true;
    // If `aside_next` is false, a page of another purpose replaced the requested forward read.
    return lane.hungry || !lane.aside_next;
  });
}

void ShardState::add_hungry(Shares& shares) const {
  if (phase_ != Phase::active) return;
  for (std::size_t number = 0; number < lanes_.size(); ++number) {
    const auto& lane = lanes_[number];
    if (goes_on(number)) {
      shares.add(spi::Lane{static_cast<std::uint8_t>(number)}, progress(lane));
    } else if (lane.hungry || lane.passed.catch_up_after() || lane.passed.review_after()) {
      shares.add_beside();
    }
  }
}

std::size_t ShardState::passed_key_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& lane : lanes_) bytes += lane.passed.key_bytes();
  return bytes;
}

bool ShardState::in_safety_pass() const noexcept {
  // A shard that is lost or draining does not finish its pass, and other shards must not wait for
  // it.
  return phase_ == Phase::active &&
         std::any_of(lanes_.begin(), lanes_.end(),
                     [](const LaneState& lane) { return lane.safety.after().has_value(); });
}

void ShardState::take_page(const PlannedRange& page, std::span<spi::Row> rows, bool exhausted,
                           const std::optional<spi::Horizon>& horizon, BootTime now,
                           WallTime wall_now, Taken& taken) {
  if (page.tenure != tenure_ || phase_ != Phase::active) return;
  auto& lane = lanes_[page.range.lane.value];
  const bool forward = page.purpose == Purpose::forward;
  const bool review = page.purpose == Purpose::review;
  auto shown = Shown{.lane = &lane,
                     .page_after = page.range.after,
                     .key_checks = page.key_checks,
                     .review = review};
  if (page.purpose == Purpose::catch_up || review) lane.review_next = !review;
  if (forward) lane.hungry = !exhausted;
  lane.resting = false;
  lane.aside_next = forward;
  if (!lane.reader.accept(page.range.after, horizon, forward)) return;
  auto last = page.range.after;
  const auto position = lane.reader.position();
  if (forward) {
    const auto fresh = std::ranges::upper_bound(rows, position, {}, &spi::Row::sequence);
    const auto count = static_cast<std::size_t>(rows.end() - fresh);
    if (count > 0) lane.stride.seen(fresh->sequence, rows.back().sequence, count);
  }
  const auto admitted_before = taken.admitted;
  auto kept = kept_due_for(page);
  auto due = kept.begin();
  const auto take_due_up_to = [&](Sequence bound) {
    for (; due != kept.end() && due->sequence <= bound; ++due) take_kept_due(*due, taken);
  };
  for (auto& row : rows) {
    take_due_up_to(row.sequence);
    // If a row is from the future, our clock is behind; the row must not wait until the clock
    // catches up.
    const auto age = wall_now - row.written_at;
    const bool recent = age >= Duration{} && age < settings_.skip_recent;
    // Only forward reads advance the position, so that no page begins beyond the rows they have
    // processed. Rows claimed from other shards are an exception: without a key, they overtake
    // nothing.
    const bool claimed = page.range.others_too && (!row.message || !row.message->has_key());
    const bool ahead = row.sequence > position && !claimed && !forward;
    Entry entry;
    shown.unseen = forward && row.sequence > position;
    const auto fate = recent || ahead ? Fate::no_room : admit(row, shown, entry, taken);
    if (fate == Fate::no_room) {
      exhausted = false;
      lane.resting = recent;
      lane.hungry = lane.hungry || (forward && !recent);
      if (ahead) last = std::max(last, position);
      break;
    }
    last = row.sequence;
    if (fate == Fate::passed) continue;
    if (row.sequence < position && forward) ++taken.late;
    keep(fate, std::move(entry), taken);
  }
  if (std::exchange(claim_ended_, false)) others_wait_until_ = now + others_rest;
  passed_over_since(page.key_checks);
  const bool level = exhausted || last >= position;
  lane.passed.page_seen(page.range.after, last, level, review);
  if (forward) {
    lane.reader.seen(page.range.after, last, exhausted, now);
    if (exhausted) seen_once(page.range.lane.value);
    take_due_up_to(exhausted ? Sequence{~std::uint64_t{0}} : last);
    due_missed_ = due_missed_ || due != kept.end();
    due_looked_at();
  } else if (page.purpose == Purpose::safety) {
    lane.safety.page_seen(last, level);
    lane.sweeping = page.range.others_too && !level && taken.admitted > admitted_before;
  }
}

void ShardState::keep(Fate fate, Entry entry, Taken& taken) {
  ++taken.admitted;
  if (fate == Fate::kept) return;
  (fate == Fate::cautious ? taken.cautious : taken.ready).push_back(std::move(entry));
}

void ShardState::seen_once(std::uint8_t what) {
  seen_once_ = static_cast<std::uint8_t>(seen_once_ | (1U << what));
  // All rows that could have been in flight at the take-over have been processed.
  if (seen_once_ == seen_all) cautious_left_ = 0;
}

ShardState::Turn ShardState::turn_of(const spi::Row& row, const Shown& shown) {
  const auto& message = *row.message;
  const auto sequence = row.sequence;
  auto* const lane = shown.lane;
  const auto gated = settings_.gate == nullptr ? std::nullopt : settings_.gate->class_of(message);
  if (lane != nullptr && message.has_key() &&
      !lane->passed.key_may_go(message.key_hash(), sequence, shown.page_after,
                               {.own = gated, .review = shown.review})) {
    return Turn::later;
  }
  if (!gated) return Turn::now;
  if (lane != nullptr && claim_ends(message, *gated) &&
      settings_.gate->holds(*gated, message, available_at(row))) {
    claim_ended_ = true;
    return Turn::now;
  }
  const bool in_turn =
      lane == nullptr || lane->passed.class_may_go(*gated, sequence, shown.page_after);
  if (in_turn && !settings_.gate->holds(*gated, message, available_at(row))) return Turn::now;
  if (lane == nullptr) return Turn::later;
  // No message of its key waits, so a sample overtakes none. It is not used after an unclean
  // take-over, because it would need a write: the attempt is stored first.
  if (shown.unseen && cautious_left_ == 0 && settings_.gate->samples(*gated)) return Turn::sample;
  if (in_turn) defer(*lane, *gated, message, sequence);
  // Later messages of its key must not overtake it.
  if (message.has_key()) lane->passed.wait_behind(*gated, message.key_hash(), sequence);
  return Turn::later;
}

bool ShardState::claim_ends(const Message& message, spi::ClassId gated) const {
  return settings_.store.claims && !message.has_key() && Unrouted::is_unrouted(gated);
}

bool ShardState::defer_if_closed(Entry& entry) {
  if (settings_.gate == nullptr) return false;
  const auto gated = settings_.gate->class_of(*entry.message);
  if (!gated || !settings_.gate->holds(*gated, *entry.message, entry.available_at)) return false;
  if (!entry.was_waiting && claim_ends(*entry.message, *gated)) return false;
  // A sample's topic may have been paused since. What came by the hot path has no key, so it
  // overtakes nothing.
  entry.sample = (entry.sample || entry.source == Source::hot) && settings_.gate->samples(*gated);
  if (entry.sample) return false;
  defer_behind(entry, *gated);
  return true;
}

ShardState::Fate ShardState::admit(spi::Row& row, const Shown& shown, Entry& entry, Taken& taken) {
  const bool readable = row.message != nullptr;
  auto* const lane = shown.lane;
  // Checked first: a row in hand, or settled since the read began, must not hold back its key.
  const bool keyed = readable && row.message->has_key();
  if (keyed && !tracker_->admit(row.sequence)) return Fate::passed;
  const auto turn = readable ? turn_of(row, shown) : Turn::now;
  if (turn == Turn::later || orphans_.hold(row)) {
    if (keyed) tracker_->forget(row.sequence);
    return Fate::passed;
  }
  if (!keyed && !tracker_->admit(row.sequence)) return Fate::passed;
  if (!readable || row.attempts >= settings_.attempts_max) {
    bury(row, taken);
    return Fate::passed;
  }
  if (!room_.take(Source::cold, row.message->bytes())) {
    tracker_->forget(row.sequence);
    if (lane != nullptr) requeue_row(*row.message, row.sequence, *lane);
    taken.cut_at = row.message->bytes();
    return Fate::no_room;
  }
  entry = {.message = std::move(row.message),
           .sequence = row.sequence,
           .written_at = row.written_at,
           .available_at = available_at(row),
           .attempts = row.attempts,
           .targets_done = row.targets_done,
           .tenure = tenure_,
           .key_checks = lane == nullptr ? key_checks_ : shown.key_checks,
           .shard = shard_,
           .source = Source::cold,
           .cautious = cautious_left_ > 0,
           .replayed = row.replays > 0,
           .was_waiting = lane == nullptr,
           .sample = turn == Turn::sample,
           .was_retrying = row.retrying};
  if (cautious_left_ > 0) --cautious_left_;
  return place(entry, lane);
}

ShardState::Fate ShardState::place(Entry& entry, LaneState* lane) {
  const auto go = entry.cautious ? Fate::cautious : Fate::ready;
  if (!entry.message->has_key()) return go;
  const auto key_hash = entry.message->key_hash();
  switch (orphans_.hold_key(key_hash) ? KeyOrder::Place::blocked : keys_.offer(entry)) {
    case KeyOrder::Place::head:
      return go;
    case KeyOrder::Place::waiting:
      return Fate::kept;
    case KeyOrder::Place::full:
    case KeyOrder::Place::blocked:
      if (lane != nullptr) lane->passed.defer_key(key_hash, entry.sequence);
      break;
    case KeyOrder::Place::maybe_blocked:
      if (lane == nullptr) break;
      lane->passed.defer(overflow_class(), entry.sequence);
      lane->passed.wait_behind(overflow_class(), key_hash, entry.sequence);
      break;
  }
  tracker_->forget(entry.sequence);
  room_.release(entry);
  return Fate::passed;
}

void ShardState::requeue_row(const Message& message, Sequence sequence, LaneState& lane) {
  if (message.has_key()) lane.passed.requeue_key(message.key_hash(), sequence);
  if (settings_.gate == nullptr) return;
  if (const auto gated = settings_.gate->class_of(message)) {
    lane.passed.requeue(*gated, sequence);
  }
}

void ShardState::bury(const spi::Row& row, Taken& taken) {
  taken.buried.push_back(
      {row.message ? exhausted(row, settings_.attempts_max) : undecodable(row), row.message});
  settle_beside({.settlement = taken.buried.back().settlement,
                 .tenure = tenure_,
                 .replayed = row.replays > 0,
                 .dead = row.message});
  if (row.message && row.message->has_key()) {
    const auto key_hash = row.message->key_hash();
    if (keys_.unblock(key_hash, row.sequence)) resume_key(key_hash);
  } else if (const auto key_hash = keys_.unblock(row.sequence)) {
    resume_key(*key_hash);
  }
  // It may have been skipped while it was still readable; the key that waits behind it is unknown.
  if (!row.message) lane_of_keys().passed.rows_may_be_gone();
}

bool ShardState::reserve(Sequence sequence, BootTime expires) {
  // With claims, this row is not claimed: another shard may claim it at any time.
  if (phase_ != Phase::active || cautious_left_ > 0 || settings_.store.claims) return false;
  // While a read hangs, settled rows cannot be removed from the tracker, so the hot path must not
  // add rows.
  if (tracker_->size() >= tracked_max) return false;
  tracker_->reserve(sequence, expires);
  return true;
}

bool ShardState::claim(Sequence sequence, std::uint32_t tenure) {
  return tenure == tenure_ && phase_ == Phase::active && tracker_->claim(sequence);
}

void ShardState::cancel(Sequence sequence, std::uint32_t tenure) {
  if (tenure == tenure_) tracker_->cancel(sequence);
}

std::optional<Epoch> ShardState::start(Entry& entry) {
  if (entry.tenure != tenure_) return std::nullopt;
  if (phase_ != Phase::active) {
    abandon(entry);
    return std::nullopt;
  }
  if (!entry.cautious && defer_if_closed(entry)) return std::nullopt;
  if (entry.cautious) {
    std::erase_if(spent_ahead_,
                  [&](const Entry& ahead) { return ahead.sequence == entry.sequence; });
  }
  running_.push_back({entry.sequence, entry.message.get()});
  return epoch_;
}

void ShardState::no_longer_running(Sequence sequence) {
  const auto found = std::find_if(running_.begin(), running_.end(), [&](const Running& running) {
    return running.sequence == sequence;
  });
  if (found == running_.end()) return;
  *found = running_.back();
  running_.pop_back();
}

ShardState::Completed ShardState::complete(const Entry& entry, Settling&& settling) {
  if (entry.tenure != tenure_) {
    return {.read_on = orphan_returned(entry)};
  }
  no_longer_running(entry.sequence);
  const bool blocks = settling.settlement.verdict == spi::Verdict::retry &&
                      settings_.head_policy == HeadPolicy::block;
  settle_beside(std::move(settling));
  auto done = Completed{.accepted = true, .next = std::nullopt};
  if (!entry.message->has_key()) return done;
  const auto key_hash = entry.message->key_hash();
  if (blocks) {
    block(entry, keys_.block_unsettled(key_hash, entry.sequence));
  } else if (phase_ == Phase::active) {
    done.next = keys_.advance(key_hash);
    if (lane_of_keys().passed.keys() > 0 && keys_.roomy(key_hash)) {
      done.read_on = resume_key(key_hash);
    }
  } else {
    pass_over(keys_.release(key_hash));
  }
  return done;
}

ShardState::Completed ShardState::requeue(const Entry& entry) {
  if (entry.tenure != tenure_) return {.read_on = orphan_returned(entry)};
  no_longer_running(entry.sequence);
  const auto gated =
      settings_.gate == nullptr ? std::nullopt : settings_.gate->class_of(*entry.message);
  if (phase_ != Phase::active || !gated) {
    abandon(entry);
    return {};
  }
  defer_behind(entry, *gated);
  if (settings_.gate->holds(*gated, *entry.message, entry.available_at)) return {};
  // Open again, or never closed: whoever opened it may have been here before.
  lane_for(*entry.message).passed.resume(*gated);
  if (entry.message->has_key()) resume_key(entry.message->key_hash());
  return {.read_on = true};
}

bool ShardState::resume_key(std::uint64_t key_hash) {
  return lane_of_keys().passed.resume_key(key_hash);
}

void ShardState::settle_beside(Settling&& settling) {
  ++unsettled_;
  settlements_.push_back(std::move(settling));
}

bool ShardState::park_unstarted(const Entry& entry, Settling&& settling) {
  if (entry.tenure != tenure_) return false;
  std::erase_if(spent_ahead_, [&](const Entry& ahead) { return ahead.sequence == entry.sequence; });
  if (phase_ != Phase::active) {
    abandon(entry);
    return false;
  }
  settle_beside(std::move(settling));
  if (entry.message->has_key()) {
    block(entry, keys_.block_unsettled(entry.message->key_hash(), entry.sequence));
  }
  return true;
}

bool ShardState::spend_ahead(Entry& entry) {
  if (entry.tenure != tenure_ || phase_ != Phase::active || defer_if_closed(entry)) return false;
  settle_beside({.settlement = spent_attempt(entry, Code::tx_handler_failed, {}),
                 .tenure = tenure_,
                 .holds_place = false});
  spent_ahead_.push_back(entry);
  return true;
}

bool ShardState::orphan_returned(const Entry& entry) {
  const auto orphan = orphans_.take(entry);
  if (!orphan || phase_ == Phase::absent) return false;
  for (auto& lane : lanes_) lane.reader.rewind(Sequence{entry.sequence.value - 1});
  if (orphan->key_hash == 0) return true;
  if (!orphan->retrying) (void)keys_.unblock(orphan->key_hash, entry.sequence);
  // Checks ignored this row while it ran.
  check_again_ = check_again_ || orphan->retrying;
  resume_key(orphan->key_hash);
  return true;
}

void ShardState::collect(std::size_t rows_max, std::vector<Settling>& out) {
  const auto count = std::min(rows_max, settlements_.size());
  const auto end = settlements_.begin() + static_cast<std::ptrdiff_t>(count);
  std::move(settlements_.begin(), end, std::back_inserter(out));
  settlements_.erase(settlements_.begin(), end);
}

void ShardState::settled(const spi::Settlement& settlement, std::uint32_t tenure) {
  if (tenure != tenure_) return;
  --unsettled_;
  if (settlement.verdict != spi::Verdict::attempt) forget_settled(settlement);
}

void ShardState::keep_refused(std::uint32_t tenure) {
  if (tenure == tenure_) --unsettled_;
}

void ShardState::settled_late(const spi::Settlement& settlement, std::uint32_t tenure) {
  if (tenure == tenure_) forget_settled(settlement);
}

void ShardState::forget_settled(const spi::Settlement& settlement) {
  keys_.settled(settlement.sequence);
  tracker_->settled(settlement.sequence);
  // It was parked instead of its own result, so its key does not wait for it any more.
  if (settlement.note.empty()) return;
  if (const auto key_hash = keys_.unblock(settlement.sequence)) resume_key(*key_hash);
}

}  // namespace sagabox::outbox
