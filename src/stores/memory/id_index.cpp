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

/// An id that is looked for.
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

IdIndex::IdIndex(const Rows& rows)
    : entries_(new Entries{boost::unordered_flat_set<Entry, EntryHash, EntryEqual>(
          0, EntryHash{}, EntryEqual{&rows})}) {}

IdIndex::~IdIndex() = default;

std::optional<Sequence> IdIndex::find(const MessageId& id) const {
  const auto found = entries_->set.find(wanted(id));
  if (found == entries_->set.end()) return std::nullopt;
  return found->sequence;
}

void IdIndex::insert(const MessageId& id, Sequence sequence) {
  entries_->set.insert(Entry{wanted(id).hash, sequence});
}

void IdIndex::erase(const MessageId& id) {
  const auto found = entries_->set.find(wanted(id));
  if (found != entries_->set.end()) entries_->set.erase(found);
}

}  // namespace sagabox::memory
