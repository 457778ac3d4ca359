#include "stores/memory/failure_state.hpp"
#include "stores/memory/selection.hpp"
#include "stores/memory/table.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sagabox::memory {
namespace {

/// The message with the header that numbers this replay.
std::shared_ptr<const Message> as_new_message(const Message& message, std::uint32_t replay) {
  auto headers = message.headers();
  std::erase_if(headers, [](const auto& header) { return header.first == as_new_header; });
  headers.emplace_back(as_new_header, std::to_string(replay));
  return std::make_shared<const Message>(
      Message::restore({.id = message.id(),
                        .fields = {.topic = message.topic(),
                                   .key = message.key(),
                                   .payload = message.payload(),
                                   .tenant = message.tenant(),
                                   .aggregate_type = message.aggregate_type(),
                                   .aggregate_id = message.aggregate_id(),
                                   .priority = message.priority(),
                                   .content_type = message.content_type(),
                                   .headers = std::move(headers),
                                   .occurred_at = message.occurred_at(),
                                   .not_before = message.not_before(),
                                   .trace = message.trace()},
                        .digest = message.digest()}));
}

}  // namespace

const Slot* Table::row(Sequence sequence) const noexcept {
  const Slot* slot = rows_.find(sequence);
  return slot == nullptr || slot->state == SlotState::open ? nullptr : slot;
}

std::vector<Sequence> Table::find(const MessageId& id) const {
  std::vector<Sequence> found;
  for (auto at = ids_.find(id); at && *at != Sequence{}; at = rows_.find(*at)->older) {
    if (row(*at) != nullptr) found.push_back(*at);
  }
  return found;
}

bool Table::is_pending_again(Sequence sequence) const {
  const Slot& slot = *rows_.find(sequence);
  return std::ranges::any_of(find(slot.id), [&](Sequence other) {
    const Slot& there = *rows_.find(other);
    return there.pending() && tenant_of(there) == tenant_of(slot);
  });
}

template <class Visit>
void Table::each_fitting(MessageState state, const MessageFilter& filter, Sequence after,
                         Visit&& visit) const {
  const SlotState wanted = slot_state(state);
  if (count_of(wanted) == 0) return;
  if (filter.first && filter.first->value > 0) {
    after = std::max(after, Sequence{filter.first->value - 1});
  }
  rows_.each_after(after, [&](Sequence sequence, const Slot& slot) {
    if (filter.last && sequence > *filter.last) return false;
    return slot.state != wanted || !fits(slot, filter) || visit(sequence, slot);
  });
}

Table::Selection Table::select(MessageState state, const MessageFilter& filter, Sequence after,
                               std::uint32_t rows_max) const {
  Selection selection;
  each_fitting(state, filter, after, [&](Sequence sequence, const Slot&) {
    selection.exhausted = selection.rows.size() < rows_max;
    if (selection.exhausted) selection.rows.push_back(sequence);
    return selection.exhausted;
  });
  return selection;
}

Table::Extent Table::extent(MessageState state, const MessageFilter& filter) const {
  Extent extent;
  each_fitting(state, filter, {}, [&](Sequence sequence, const Slot&) {
    ++extent.rows;
    extent.last = sequence;
    return true;
  });
  return extent;
}

std::uint64_t& Table::count_of(SlotState state) {
  return const_cast<std::uint64_t&>(std::as_const(*this).count_of(state));
}

const std::uint64_t& Table::count_of(SlotState state) const {
  switch (state) {
    case SlotState::done:
      return counts_.done;
    case SlotState::dead:
      return counts_.dead;
    case SlotState::quarantined:
      return counts_.quarantined;
    default:
      return counts_.pending;
  }
}

void Table::replay(Sequence sequence, TransactionId writer, WallTime now, bool as_new) {
  const Sequence to{next_sequence_++};
  Slot& fresh = rows_.create(to);
  const Slot& old = *rows_.find(sequence);
  --count_of(old.state);
  fresh = old;
  fresh.state = SlotState::pending;
  fresh.attempts = 0;
  fresh.targets_done = {};
  fresh.settled = 0;
  fresh.writer = writer;
  fresh.written_at = now;
  fresh.due = {};
  if (!fresh.has_key) fresh.shard = Shard{static_cast<std::uint16_t>(to.value % shards_)};
  FailureState kept;
  kept.replays = 1;
  if (old.failure_state) {
    kept.replays += old.failure_state->replays;
    kept.decode_error = old.failure_state->decode_error;
    kept.tenant = old.failure_state->tenant;
  }
  if (as_new && fresh.message) {
    fresh.message = as_new_message(*fresh.message, kept.replays);
    fresh.bytes = static_cast<std::uint32_t>(fresh.message->bytes());
  }
  fresh.failure_state = std::make_shared<const FailureState>(std::move(kept));
  ids_.erase(old.id, sequence);
  rows_.erase(sequence);
  ids_.insert(fresh.id, to);
  ++counts_.pending;
  rows_.pending_added(to);
  FreshLane& lane = lanes_[fresh.shard.value].fresh[fresh.lane.value];
  if (lane.append(to)) lane.merge();
}

void Table::quarantine(Sequence sequence, const std::string& note, WallTime now) {
  Slot& slot = *rows_.find(sequence);
  if (slot.pending()) {
    bury(sequence, slot, SlotState::quarantined, now);
  } else {
    --count_of(slot.state);
    slot.state = SlotState::quarantined;
    slot.due = now;
  }
  ++counts_.quarantined;
  amend(slot, [&](FailureState& failure_state) { failure_state.note = note; });
}

void Table::release(Sequence sequence, WallTime now) {
  Slot& slot = *rows_.find(sequence);
  --count_of(slot.state);
  slot.state = SlotState::pending;
  slot.attempts = 0;
  slot.targets_done = {};
  amend(slot, [](FailureState& failure_state) {
    failure_state.note.clear();
    failure_state.failed_for_good = 0;
  });
  ++counts_.pending;
  rows_.pending_added(sequence);
  enter_waiting(sequence, slot, now);
}

void Table::purge(Sequence sequence, Released& released) {
  Slot& slot = *rows_.find(sequence);
  if (slot.pending()) {
    leave_lane(sequence, slot);
    rows_.pending_removed(sequence);
  }
  --count_of(slot.state);
  ids_.erase(slot.id, sequence);
  if (slot.message) released.push_back(std::move(slot.message));
  rows_.erase(sequence);
}

bool Table::in_lane(Sequence sequence, const Slot& slot) const {
  const ShardLanes& lanes = lanes_[slot.shard.value];
  if (slot.waits) return lanes.waiting.contains({slot.due, sequence});
  return lanes.fresh[slot.lane.value].contains(sequence);
}

std::vector<spi::Stray> Table::strays(std::uint32_t rows_max) const {
  std::vector<spi::Stray> strays;
  auto left = counts_.pending;
  rows_.each_after({}, [&](Sequence sequence, const Slot& slot) {
    if (left == 0 || strays.size() == rows_max) return false;
    if (!slot.pending()) return true;
    --left;
    if (in_lane(sequence, slot)) return true;
    strays.push_back({sequence, slot.id,
                      slot.waits ? "pending, but the waiting lane does not have it"
                                 : "pending, but no lane of its shard has it"});
    return true;
  });
  return strays;
}

bool Table::misplace(Sequence sequence) {
  Slot* slot = rows_.find(sequence);
  if (slot == nullptr || !slot->pending()) return false;
  leave_lane(sequence, *slot);
  // Marked as waiting, so that the counts are still right when it leaves.
  slot->waits = true;
  ++counts_.waiting;
  return true;
}

}  // namespace sagabox::memory
