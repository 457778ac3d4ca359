#include "stores/memory/rows.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sagabox::memory {
namespace {

/// The counters, id, key and topic, which are read before a handler runs.
constexpr std::size_t message_head_bytes = 192;

void fetch(const void* from, std::size_t bytes) {
  constexpr std::size_t cache_line = 64;
  for (std::size_t at = 0; at < bytes; at += cache_line) {
    __builtin_prefetch(static_cast<const char*>(from) + at);
  }
}

}  // namespace

Slot* Rows::find(Sequence sequence) noexcept {
  return const_cast<Slot*>(std::as_const(*this).find(sequence));
}

const Slot* Rows::find(Sequence sequence) const noexcept {
  const Chunk* chunk = chunk_of(sequence);
  if (chunk == nullptr) return nullptr;
  const Slot& slot = chunk->slots[sequence.value % chunk_slots];
  return slot.state == SlotState::empty ? nullptr : &slot;
}

void Rows::expect(Sequence sequence) const noexcept {
  const Chunk* chunk = chunk_of(sequence);
  if (chunk == nullptr) return;
  fetch(&chunk->slots[sequence.value % chunk_slots], sizeof(Slot));
}

void Rows::expect_message(Sequence sequence) const noexcept {
  if (const Slot* slot = find(sequence)) fetch(slot->message.get(), message_head_bytes);
}

Slot& Rows::create(Sequence sequence) {
  const auto index = sequence.value / chunk_slots;
  if (index >= chunks_.size()) chunks_.resize(index + 1);
  auto& chunk = chunks_[index];
  if (!chunk) chunk = spare_ ? std::move(spare_) : std::make_unique<Chunk>();
  ++chunk->used;
  return chunk->slots[sequence.value % chunk_slots];
}

void Rows::erase(Sequence sequence) {
  auto& chunk = chunks_[sequence.value / chunk_slots];
  chunk->slots[sequence.value % chunk_slots] = Slot{};
  if (--chunk->used == 0) spare_ = std::move(chunk);
}

void Rows::pending_added(Sequence sequence) {
  ++chunk_of(sequence)->pending;
  oldest_chunk_ = std::min<std::size_t>(oldest_chunk_, sequence.value / chunk_slots);
}

void Rows::pending_removed(Sequence sequence) { --chunk_of(sequence)->pending; }

const Slot* Rows::oldest_pending() const {
  for (; oldest_chunk_ < chunks_.size(); ++oldest_chunk_) {
    const Chunk* chunk = chunks_[oldest_chunk_].get();
    if (chunk == nullptr || chunk->pending == 0) continue;
    const auto found = std::find_if(chunk->slots.begin(), chunk->slots.end(),
                                    [](const Slot& slot) { return slot.pending(); });
    if (found != chunk->slots.end()) return &*found;
  }
  return nullptr;
}

}  // namespace sagabox::memory
