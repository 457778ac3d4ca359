#include "stores/memory/selection.hpp"

namespace sagabox::memory {
namespace {

bool names_fit(const Slot& slot, const MessageFilter& filter) {
  if (!filter.tenant && !filter.topic && !filter.aggregate_type && !filter.key) return true;
  const Message* message = slot.message.get();
  if (message == nullptr) return false;
  return (!filter.tenant || message->tenant() == *filter.tenant) &&
         (!filter.topic || message->topic() == *filter.topic) &&
         (!filter.aggregate_type || message->aggregate_type() == *filter.aggregate_type) &&
         (!filter.key || message->key() == *filter.key);
}

}  // namespace

MessageState state_of(const Slot& slot) noexcept {
  switch (slot.state) {
    case SlotState::done:
      return MessageState::done;
    case SlotState::dead:
      return MessageState::dead;
    case SlotState::quarantined:
      return MessageState::quarantined;
    default:
      return MessageState::pending;
  }
}

SlotState slot_state(MessageState state) noexcept {
  switch (state) {
    case MessageState::done:
      return SlotState::done;
    case MessageState::dead:
      return SlotState::dead;
    case MessageState::quarantined:
      return SlotState::quarantined;
    case MessageState::pending:
      break;
  }
  return SlotState::pending;
}

WallTime age_from(const Slot& slot) noexcept { return slot.pending() ? slot.written_at : slot.due; }

bool fits(const Slot& slot, const MessageFilter& filter) {
  const WallTime at = age_from(slot);
  if (filter.from && at < *filter.from) return false;
  if (filter.until && at >= *filter.until) return false;
  if (filter.retrying && !slot.retrying) return false;
  if (filter.code && (!slot.failure_state || slot.failure_state->code != filter.code)) return false;
  return names_fit(slot, filter);
}

std::string_view tenant_of(const Slot& slot) noexcept {
  if (slot.message) return slot.message->tenant();
  return slot.failure_state ? std::string_view(slot.failure_state->tenant) : std::string_view();
}

MessageRecord record_of(Sequence sequence, const Slot& slot, RecordParts parts) {
  MessageRecord record;
  record.state = state_of(slot);
  record.id = slot.id;
  record.sequence = sequence;
  record.shard = slot.shard;
  if (const Message* message = slot.message.get()) {
    record.tenant = message->tenant();
    record.topic = message->topic();
    record.aggregate_type = message->aggregate_type();
    record.aggregate_id = message->aggregate_id();
    record.key = message->key();
    record.digest = message->digest();
    record.payload_bytes = message->payload().size();
  }
  record.attempts = slot.attempts;
  record.written_at = slot.written_at;
  if (!slot.pending()) {
    record.ended_at = slot.due;
  } else if (slot.waits) {
    record.due = slot.due;
    record.retrying = slot.retrying;
  }
  if (slot.failure_state) {
    record.decode_error = slot.failure_state->decode_error;
    record.replays = slot.failure_state->replays;
    record.code = slot.failure_state->code;
    record.error = slot.failure_state->error;
    record.note = slot.failure_state->note;
    if (parts.history) record.history = slot.failure_state->history;
  }
  if (parts.payload) record.message = slot.message;
  return record;
}

}  // namespace sagabox::memory
