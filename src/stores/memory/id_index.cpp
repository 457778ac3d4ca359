#include "stores/memory/id_index.hpp"

#include <boost/unordered/unordered_flat_set.hpp>

#include <functional>
#include <type_traits>

namespace sagabox::memory {
namespace {

struct Entry {
  std::size_t hash = 0;
  Sequence sequence{};
};

/// An id to look up.
struct Wanted {
  std::size_t hash = 0;
  const MessageId* id = nullptr;
};

Wanted wanted(const MessageId& id) { return {std::hash<MessageId>{}(id), &id}; }

struct EntryHash {
  using is_transparent = void;
  using is_avalanching = std::true_type;  // libstdc++ hashes strings with Murmur
  std::size_t operator()(const Entry& entry) const noexcept { return entry.hash; }
  std::size_t operator()(const Wanted& id) const noexcept { return id.hash; }
};

struct EntryEqual {
  using is_transparent = void;
  const Rows* rows = nullptr;

  bool operator()(const Entry& a, const Entry& b) const noexcept {
    return a.sequence == b.sequence;
  }
  bool operator()(const Wanted& id, const Entry& entry) const noexcept {
    if (id.hash != entry.hash) return false;
    const Slot* slot = rows->find(entry.sequence);
    return slot != nullptr && slot->id == *id.id;
  }
  bool operator()(const Entry& entry, const Wanted& id) const noexcept {
    return (*this)(id, entry);
  }
};

}  // namespace

struct IdIndex::Entries {
  boost::unordered_flat_set<Entry, EntryHash, EntryEqual> set;
};

IdIndex::IdIndex(Rows& rows)
    : rows_(rows),
      entries_(new Entries{boost::unordered_flat_set<Entry, EntryHash, EntryEqual>(
          0, EntryHash{}, EntryEqual{&rows})}) {}

IdIndex::~IdIndex() = default;

std::optional<Sequence> IdIndex::find(const MessageId& id) const {
  const auto found = entries_->set.find(wanted(id));
  if (found == entries_->set.end()) return std::nullopt;
  return found->sequence;
}

void IdIndex::insert(const MessageId& id, Sequence sequence) {
  const auto newest = entries_->set.find(wanted(id));
  Slot& slot = *rows_.find(sequence);
  slot.older = {};
  if (newest != entries_->set.end()) {
    slot.older = newest->sequence;
    entries_->set.erase(newest);
  }
  entries_->set.insert(Entry{wanted(id).hash, sequence});
}

void IdIndex::erase(const MessageId& id, Sequence sequence) {
  const auto newest = entries_->set.find(wanted(id));
  if (newest == entries_->set.end()) return;
  const Sequence older = rows_.find(sequence)->older;
  if (newest->sequence == sequence) {
    const auto hash = newest->hash;
    entries_->set.erase(newest);
    if (older != Sequence{}) entries_->set.insert(Entry{hash, older});
    return;
  }
  for (auto at = newest->sequence; at != Sequence{};) {
    Slot& newer = *rows_.find(at);
    at = newer.older;
    if (at == sequence) newer.older = older;
  }
}

}  // namespace sagabox::memory
