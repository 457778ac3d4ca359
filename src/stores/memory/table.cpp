#include "stores/memory/table.hpp"

#include "stores/memory/failure_state.hpp"
#include "stores/memory/selection.hpp"

#include <chrono>
#include <string>

namespace sagabox::memory {
namespace {

/// The prefetch of a message needs its slot to be cached first.
constexpr std::size_t slots_ahead = 8;
constexpr std::size_t messages_ahead = 4;

bool has_error(const Slot& slot) {
  return slot.failure_state && !slot.failure_state->error.empty();
}

Inspected::State inspected_state(const Slot& slot) {
  switch (slot.state) {
    case SlotState::done:
      return Inspected::State::done;
    case SlotState::dead:
      return Inspected::State::dead;
    case SlotState::quarantined:
      return Inspected::State::quarantined;
    default:
      return slot.waits ? Inspected::State::waiting : Inspected::State::pending;
  }
}

}  // namespace

Table::Table(std::uint16_t shards) : shards_(shards), lanes_(shards) {}

std::unique_ptr<Table> Table::committed_copy() const {
  auto copy = std::make_unique<Table>(shards_);
  copy->next_sequence_ = next_sequence_;
  copy->lanes_ = lanes_;
  copy->counts_ = counts_;
  rows_.each([&](Sequence sequence, const Slot& slot) {
    if (slot.state == SlotState::open) return;
    copy->rows_.create(sequence) = slot;
    copy->ids_.insert(slot.id, sequence);
    if (slot.pending()) copy->rows_.pending_added(sequence);
  });
  return copy;
}

void Table::fill(Slot& slot, Sequence sequence, TransactionId writer,
                 const std::shared_ptr<const Message>& message, WallTime now) const {
  const std::uint64_t spread = message->has_key() ? message->key_hash() : sequence.value;
  slot.id = message->id();
  slot.state = SlotState::open;
  slot.lane = spi::lane_of(*message);
  slot.has_key = message->has_key();
  slot.shard = Shard{static_cast<std::uint16_t>(spread % shards_)};
  slot.bytes = static_cast<std::uint32_t>(message->bytes());
  slot.writer = writer;
  slot.written_at = now;
  slot.key_hash = message->key_hash();
  slot.message = message;
  if (message->not_before() && *message->not_before() > now) {
    slot.waits = true;
    slot.due = *message->not_before();
  }
}

std::optional<Sequence> Table::known(const Message& message) const {
  std::optional<Sequence> ended;
  for (auto at = ids_.find(message.id()); at && *at != Sequence{}; at = rows_.find(*at)->older) {
    const Slot& slot = *rows_.find(*at);
    if (tenant_of(slot) != message.tenant()) continue;
    if (slot.pending() || slot.state == SlotState::open) return at;
    if (!ended && !message.has_fresh_id()) ended = at;
  }
  return ended;
}

Result<std::vector<Written>> Table::insert(TransactionId writer,
                                           std::span<const std::shared_ptr<const Message>> messages,
                                           WallTime now, Drawn& drawn) {
  std::vector<Written> written;
  written.reserve(messages.size());
  drawn = {Sequence{next_sequence_}, 0};
  for (const auto& message : messages) {
    if (const auto first = known(*message)) {
      const Slot& slot = *rows_.find(*first);
      if (slot.state == SlotState::open && slot.writer != writer) {
        discard(drawn);
        drawn.count = 0;
        return Error{Code::storage_conflict,
                     "message id " + message->id().str() +
                         " is being written by another open transaction; roll back and try again "
                         "when that one has ended"};
      }
      written.push_back({message->id(), *first, slot.shard, true});
      continue;
    }
    const Sequence sequence{next_sequence_++};
    Slot& slot = rows_.create(sequence);
    fill(slot, sequence, writer, message, now);
    ids_.insert(slot.id, sequence);
    ++drawn.count;
    written.push_back({slot.id, sequence, slot.shard, false});
  }
  return written;
}

void Table::publish(Drawn drawn) {
  for (std::uint64_t i = 0; i < drawn.count; ++i) {
    const Sequence sequence{drawn.first.value + i};
    Slot& slot = *rows_.find(sequence);
    slot.state = SlotState::pending;
    rows_.pending_added(sequence);
    if (slot.waits) {
      enter_waiting(sequence, slot, slot.due);
      continue;
    }
    FreshLane& lane = lanes_[slot.shard.value].fresh[slot.lane.value];
    if (lane.append(sequence)) unmerged_.push_back(&lane);
  }
  counts_.pending += drawn.count;
}

void Table::publish_done() {
  for (FreshLane* lane : unmerged_) lane->merge();
  unmerged_.clear();
}

void Table::discard(Drawn drawn) {
  for (std::uint64_t i = 0; i < drawn.count; ++i) {
    const Sequence sequence{drawn.first.value + i};
    ids_.erase(rows_.find(sequence)->id, sequence);
    rows_.erase(sequence);
  }
}

spi::Row Table::row_of(Sequence sequence, const Slot& slot) const {
  spi::Row row;
  row.sequence = sequence;
  row.shard = slot.shard;
  row.id = slot.id;
  row.attempts = slot.attempts;
  row.targets_done = slot.targets_done;
  row.written_at = slot.written_at;
  if (slot.waits) row.due = slot.due;
  row.retrying = slot.retrying;
  row.message = slot.message;
  if (slot.failure_state) {
    row.decode_error = slot.failure_state->decode_error;
    row.replays = slot.failure_state->replays;
  }
  return row;
}

spi::ReadReply::Part Table::read(const spi::Range& range, ReadBudget& budget,
                                 std::vector<spi::Row>& out) const {
  spi::ReadReply::Part part{0, true};
  if (range.shard.value >= shards_ || range.lane.value >= spi::lane_count) return part;
  const FreshLane& lane = lanes_[range.shard.value].fresh[range.lane.value];
  const auto visit = [&](Sequence sequence) {
    const Slot* slot = rows_.find(sequence);
    if (slot == nullptr || !slot->fresh()) return true;
    if (part.rows == range.rows_max || !budget.admit(slot->bytes)) {
      part.exhausted = false;
      return false;
    }
    out.push_back(row_of(sequence, *slot));
    ++part.rows;
    return true;
  };
  lane.each_after(range.after, visit, [&](std::span<const Sequence> to_come) {
    if (to_come.size() > slots_ahead) rows_.expect(to_come[slots_ahead]);
    if (to_come.size() > messages_ahead) rows_.expect_message(to_come[messages_ahead]);
  });
  return part;
}

spi::ReadReply::Part Table::read_due(const spi::DueRange& range, WallTime now, ReadBudget& budget,
                                     std::vector<spi::Row>& out) const {
  spi::ReadReply::Part part{0, true};
  if (range.shard.value >= shards_) return part;
  const auto& waiting = lanes_[range.shard.value].waiting;
  for (auto at = waiting.upper_bound({range.after_due, range.after});
       at != waiting.end() && at->first <= now; ++at) {
    const Slot& slot = *rows_.find(at->second);
    if (part.rows == range.rows_max || !budget.admit(slot.bytes)) {
      part.exhausted = false;
      break;
    }
    out.push_back(row_of(at->second, slot));
    ++part.rows;
  }
  return part;
}

spi::RetryingKeysReply Table::read_retrying_keys(Shard shard, Sequence after,
                                                 std::uint32_t rows_max) const {
  spi::RetryingKeysReply reply;
  reply.exhausted = true;
  if (shard.value >= shards_) return reply;
  const auto& retrying = lanes_[shard.value].retrying;
  for (auto at = retrying.upper_bound(after); at != retrying.end(); ++at) {
    if (reply.keys.size() == rows_max) {
      reply.exhausted = false;
      break;
    }
    reply.keys.push_back({rows_.find(*at)->key_hash, *at});
  }
  return reply;
}

void Table::leave_lane(Sequence sequence, Slot& slot) {
  ShardLanes& lanes = lanes_[slot.shard.value];
  if (slot.waits) {
    lanes.waiting.erase({slot.due, sequence});
    lanes.retrying.erase(sequence);
    slot.waits = false;
    slot.retrying = false;
    --counts_.waiting;
    return;
  }
  lanes.fresh[slot.lane.value].one_left([&](Sequence other) {
    if (other == sequence) return false;
    const Slot* there = rows_.find(other);
    return there != nullptr && there->fresh();
  });
}

void Table::enter_waiting(Sequence sequence, Slot& slot, WallTime due) {
  slot.waits = true;
  slot.due = due;
  lanes_[slot.shard.value].waiting.insert({due, sequence});
  ++counts_.waiting;
}

void Table::finish(Sequence sequence, Slot& slot, WallTime now, bool retain, Released& released) {
  if (retain) {
    bury(sequence, slot, SlotState::done, now);
    ++counts_.done;
    return;
  }
  leave_lane(sequence, slot);
  rows_.pending_removed(sequence);
  --counts_.pending;
  ids_.erase(slot.id, sequence);
  if (slot.message) released.push_back(std::move(slot.message));
  rows_.erase(sequence);
}

void Table::bury(Sequence sequence, Slot& slot, SlotState state, WallTime now) {
  leave_lane(sequence, slot);
  rows_.pending_removed(sequence);
  --counts_.pending;
  slot.state = state;
  slot.due = now;
}

bool Table::settle(const spi::Settlement& item, WallTime now, bool retain_done,
                   Released& released) {
  Slot* slot = rows_.find(item.sequence);
  if (slot == nullptr || !slot->pending() || slot->shard != item.shard || slot->id != item.id) {
    return false;
  }
  slot->attempts = item.attempts;
  ++slot->settled;
  switch (item.verdict) {
    case spi::Verdict::done:
      finish(item.sequence, *slot, now, retain_done, released);
      break;
    case spi::Verdict::retry:
      note_failure(*slot, item, now);
      slot->targets_done = item.targets_done;
      leave_lane(item.sequence, *slot);
      enter_waiting(item.sequence, *slot,
                    now + std::chrono::duration_cast<WallTime::duration>(item.delay));
      slot->retrying = true;
      if (slot->has_key) lanes_[slot->shard.value].retrying.insert(item.sequence);
      break;
    case spi::Verdict::dead:
      if (!item.keep_last_error || !has_error(*slot)) note_failure(*slot, item, now);
      bury(item.sequence, *slot, SlotState::dead, now);
      ++counts_.dead;
      break;
    case spi::Verdict::park:
      note_failure(*slot, item, now);
      bury(item.sequence, *slot, SlotState::quarantined, now);
      ++counts_.quarantined;
      break;
    case spi::Verdict::attempt:
      if (!item.error.empty()) note_failure(*slot, item, now);
      break;
  }
  return true;
}

spi::TableStats Table::stats(WallTime now) const {
  spi::TableStats stats = counts_;
  if (const Slot* oldest = rows_.oldest_pending()) stats.oldest_pending = oldest->written_at;
  stats.now = now;
  return stats;
}

std::vector<Inspected> Table::inspect() const {
  std::vector<Inspected> all;
  rows_.each([&](Sequence sequence, const Slot& slot) {
    if (slot.state == SlotState::open) return;
    Inspected row;
    row.state = inspected_state(slot);
    row.row = row_of(sequence, slot);
    row.settled = slot.settled;
    if (slot.failure_state) {
      row.code = slot.failure_state->code.value_or(Code::unknown_internal);
      row.error = slot.failure_state->error;
      row.replays = slot.failure_state->replays;
    }
    all.push_back(std::move(row));
  });
  return all;
}

bool Table::corrupt(Sequence sequence) {
  Slot* slot = rows_.find(sequence);
  if (slot == nullptr || slot->state == SlotState::open) return false;
  amend(*slot, [tenant = std::string(tenant_of(*slot))](FailureState& failure_state) {
    failure_state.decode_error = "headers: not a JSON object of strings";
    failure_state.tenant = tenant;
  });
  slot->message.reset();
  return true;
}

}  // namespace sagabox::memory
