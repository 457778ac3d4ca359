#include "outbox/read/shard_state.hpp"

#include <algorithm>
#include <array>
#include <utility>

// The rows of a shard that cannot be dispatched now: keys that wait for a retry, rows that wait for
// their time, and skipped rows that wait for their class or key.

namespace sagabox::outbox {
namespace {

constexpr std::uint8_t due_bit = spi::lane_count;
/// The overflow is rebuilt at most this often, and for at most a twentieth of the time.
constexpr Duration recount_interval_min = std::chrono::seconds(1);
constexpr int recount_share = 20;
/// The same for reviews of skipped rows.
constexpr Duration review_interval_min = std::chrono::seconds(1);
constexpr int review_share = 20;
constexpr std::array overflow_classes{spi::ClassId{0x63726F7764206F66ULL},
                                      spi::ClassId{0x6B6579732C206F66ULL}};

bool is_overflow(spi::ClassId id) { return id == overflow_classes[0] || id == overflow_classes[1]; }

}  // namespace

void ShardState::check_blocked_keys() {
  ++key_checks_;
  begin_keys_check();
  for (auto& lane : lanes_) lane.passed.rows_may_be_gone();
}

void ShardState::begin_keys_check() {
  // Pages that were read while loading may be out of date, so check again afterwards.
  check_after_loading_ = phase_ == Phase::loading;
  if (phase_ != Phase::active) return;
  auto blockers = keys_.blockers();
  // The store does not know the state of rows in hand or held by an orphan.
  std::erase_if(blockers, [this](const spi::RetryingKey& blocker) {
    return tracker_->in_hand(blocker.sequence) || orphans_.contains(blocker.sequence);
  });
  if (blockers.empty() && !keys_.overflowed()) return keys_check_.end();
  keys_check_.begin(std::move(blockers));
  if (keys_.overflowed()) keys_.begin_recount();
}

spi::ClassId ShardState::overflow_class() const { return overflow_classes[overflow_]; }

void ShardState::look_after_overflow(BootTime now) {
  auto& passed = lane_of_keys().passed;
  if (!keys_.overflowed() && !recount_since_ && !passed.deferred(overflow_class())) return;
  // Keys that are still blocked wait behind one class until the other has resumed completely.
  if (keys_check_.page() || passed.deferred(overflow_classes[1 - overflow_])) return;
  if (recount_since_) {
    const auto took = now - *std::exchange(recount_since_, std::nullopt);
    recount_at_ = now + std::max<Duration>(recount_interval_min, recount_share * took);
  }
  if (!keys_.overflowed()) {
    // A rebuild ended while the other class was still resuming.
    passed.resume(overflow_class());
    overflow_ = 1 - overflow_;
  } else if (now >= recount_at_) {
    recount_since_ = now;
    begin_keys_check();
  }
}

void ShardState::look_after_review(LaneState& lane, BootTime now) {
  if (lane.passed.review_after()) return;
  if (lane.review_since) {
    const auto took = now - *std::exchange(lane.review_since, std::nullopt);
    lane.review_at = now + std::max<Duration>(review_interval_min, review_share * took);
  }
  if (now < lane.review_at || !lane.passed.worth_review()) return;
  lane.review_since = now;
  lane.passed.begin_review();
}

std::optional<BlockedKeysPage> ShardState::blocked_keys_page() const {
  return phase_ == Phase::active ? keys_check_.page() : std::nullopt;
}

bool ShardState::blocked_keys_seen(const BlockedKeysPage& page,
                                   std::span<const spi::RetryingKey> keys, bool exhausted) {
  if (phase_ != Phase::active || !keys_check_.expects(page)) return false;
  bool resumed = false;
  for (const auto& key : keys) keys_.still_blocked(key.key_hash, key.sequence);
  if (auto& passed = lane_of_keys().passed;
      exhausted && keys_.end_recount() && !passed.deferred(overflow_classes[1 - overflow_])) {
    resumed = passed.resume(overflow_classes[overflow_]);
    overflow_ = 1 - overflow_;
  }
  for (const auto& [key_hash, sequence] : keys_check_.seen(page, keys, exhausted)) {
    if (tracker_->in_hand(sequence)) {
      // It was taken in the meantime. If it has to wait again, this check does not cover it.
      ++key_checks_;
      continue;
    }
    if (keys_.unblock(key_hash, sequence)) resumed |= resume_key(key_hash);
  }
  return resumed;
}

spi::DueRange ShardState::due_range(std::uint32_t rows_max) const {
  return {.shard = shard_, .after_due = due_after_time_, .after = due_after_, .rows_max = rows_max};
}

void ShardState::take_due(std::span<spi::Row> rows, bool exhausted, Taken& taken) {
  if (phase_ != Phase::active) return;
  ++due_reads_;
  if (!due_pass_open()) due_missed_ = false;
  due_missed_ = due_missed_ || !due_kept_.empty();
  due_kept_.clear();
  for (auto& row : rows) {
    const auto due = row.due;
    const auto sequence = row.sequence;
    if (row.message && row.message->has_key() &&
        !keys_.blocks(row.message->key_hash(), row.sequence)) {
      // Checked now: when the row is taken later, the tracker may have removed a settle that this
      // read missed.
      if (tracker_->admit(row.sequence)) {
        tracker_->forget(row.sequence);
        due_kept_.push_back(std::move(row));
      }
    } else {
      Entry entry;
      const auto fate = admit(row, {}, entry, taken);
      if (fate == Fate::no_room) {
        exhausted = false;
        break;
      }
      if (fate != Fate::passed) keep(fate, std::move(entry), taken);
    }
    due_after_time_ = due;
    due_after_ = sequence;
  }
  if (!exhausted) return;
  due_after_time_ = {};
  due_after_ = {};
  due_pass_ended_ = true;
  due_looked_at();
}

void ShardState::due_looked_at() {
  if (!due_pass_ended_ || !due_kept_.empty()) return;
  due_pass_ended_ = false;
  if (!due_missed_) seen_once(due_bit);
}

std::vector<spi::Row> ShardState::kept_due_for(const PlannedRange& page) {
  if (page.purpose != Purpose::forward || page.due_reads != due_reads_ ||
      &lanes_[page.range.lane.value] != &lane_of_keys()) {
    return {};
  }
  auto kept = std::exchange(due_kept_, {});
  // Rows of one key keep their order, whichever was due first.
  std::ranges::sort(kept, {}, &spi::Row::sequence);
  return kept;
}

void ShardState::take_kept_due(spi::Row& row, Taken& taken) {
  // Rows that cannot be dispatched now are returned again by a later pass over the due rows.
  const bool head = row.retrying && settings_.head_policy == HeadPolicy::block;
  const auto& message = *row.message;
  const auto own = settings_.gate == nullptr ? std::nullopt : settings_.gate->class_of(message);
  if (!head && lane_of_keys().passed.may_lack(message.key_hash(), row.sequence, own)) return;
  Entry entry;
  const auto fate = admit(row, {}, entry, taken);
  due_missed_ = due_missed_ || fate == Fate::no_room;
  if (fate == Fate::no_room || fate == Fate::passed) return;
  ++taken.due;
  keep(fate, std::move(entry), taken);
}

void ShardState::defer_behind(const Entry& entry, spi::ClassId gated) {
  const auto& message = *entry.message;
  tracker_->forget(entry.sequence);
  if (!entry.was_waiting) {
    auto& passed = lane_for(message).passed;
    defer(lane_for(message), gated, message, entry.sequence);
    if (!message.has_key()) return;
    // The messages behind it resume with its class, too.
    pass_over(keys_.release(message.key_hash()), gated);
    passed.wait_behind(gated, message.key_hash(), entry.sequence);
    passed_over_since(entry.key_checks);
    resume_key(message.key_hash());
    return;
  }
  if (!message.has_key()) return;
  const auto key_hash = message.key_hash();
  if (entry.was_blocking) {
    // Checks ignore rows in hand, so its row may have been removed.
    check_again_ = check_again_ || entry.key_checks != key_checks_;
    return block(entry, keys_.block(key_hash, entry.sequence));
  }
  // Its key does not wait for it, and no other event would resume the messages behind it.
  pass_over(keys_.release(key_hash));
  resume_key(key_hash);
}

void ShardState::passed_over_since(std::uint32_t key_checks) {
  // An operator may have removed the row since, and the check was too early to detect it.
  if (key_checks != key_checks_) lane_of_keys().passed.rows_may_be_gone();
}

void ShardState::defer(LaneState& lane, spi::ClassId gated, const Message& message,
                       Sequence sequence) {
  lane.passed.defer(gated, sequence);
  const auto [example, fresh] = lane.examples.try_emplace(gated);
  if (!fresh) return;
  example->second = {.topic = message.topic(), .tenant = message.tenant()};
  // Do not clean up at every new class: a destination may have one for each tenant.
  if (lane.examples.size() < 2 * lane.examples_kept) return;
  std::erase_if(lane.examples, [&](const auto& of) { return !lane.passed.deferred(of.first); });
  lane.examples_kept = std::max(LaneState::examples_kept_min, lane.examples.size());
}

std::optional<OwnerView> ShardState::owner_view(const Message& message, Sequence sequence) const {
  if (phase_ != Phase::active) return std::nullopt;
  OwnerView view{.heads_block = settings_.head_policy == HeadPolicy::block};
  if (tracker_->in_hand(sequence)) view.in_hand.emplace();
  const auto own = settings_.gate == nullptr ? std::nullopt : settings_.gate->class_of(message);
  view.in_line = own && std::ranges::any_of(lanes_, [&](const LaneState& lane) {
                   return lane.passed.waits(*own, sequence);
                 });
  if (!message.has_key()) return view;
  const auto key_hash = message.key_hash();
  view.key_retrying = keys_.may_be_blocked(key_hash) && !keys_.blocks(key_hash, sequence);
  const auto& lane = lanes_[static_cast<std::size_t>(Priority::normal)];
  for (const auto id : lane.passed.behind(key_hash, sequence)) {
    if (is_overflow(id)) view.key_retrying = true;
    const auto example = lane.examples.find(id);
    if (id != own && example != lane.examples.end()) view.key_behind.push_back(example->second);
  }
  return view;
}

void ShardState::block(const Entry& head, std::vector<Entry> waiting) {
  const auto key_hash = head.message->key_hash();
  if (!keys_.has_blocker(key_hash)) {
    // The blocking message is not tracked: the key is in the overflow, and its messages wait with
    // the overflow.
    pass_over(std::move(waiting), overflow_class());
    resume_key(key_hash);
  } else {
    pass_over(std::move(waiting));
  }
}

void ShardState::abandon(const Entry& entry) {
  tracker_->forget(entry.sequence);
  auto& lane = lane_for(*entry.message);
  if (!entry.was_waiting) lane.reader.rewind(Sequence{entry.sequence.value - 1});
  if (!entry.message->has_key()) return;
  pass_over(keys_.release(entry.message->key_hash()));
  resume_key(entry.message->key_hash());
}

void ShardState::pass_over(std::vector<Entry> waiting, std::optional<spi::ClassId> behind) {
  for (const auto& entry : waiting) {
    tracker_->forget(entry.sequence);
    room_.release(entry);
    if (entry.was_waiting) continue;
    auto& passed = lane_of_keys().passed;
    const auto key_hash = entry.message->key_hash();
    if (behind) {
      passed.defer(*behind, entry.sequence);
      passed.wait_behind(*behind, key_hash, entry.sequence);
    } else {
      passed.defer_key(key_hash, entry.sequence);
    }
  }
}

void ShardState::reopen() {
  for (auto& lane : lanes_) {
    lane.passed.resume_if([this](spi::ClassId id) {
      return !is_overflow(id) && (settings_.gate == nullptr || !settings_.gate->closed(id));
    });
  }
}

}  // namespace sagabox::outbox
