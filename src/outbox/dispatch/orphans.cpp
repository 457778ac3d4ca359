#include "outbox/dispatch/orphans.hpp"

#include <algorithm>

namespace sagabox::outbox {

void Orphans::add(Sequence sequence, const Message& message, std::uint32_t tenure) {
  orphans_.insert_or_assign(
      sequence, Orphan{.id = message.id(), .tenure = tenure, .key_hash = message.key_hash()});
}

std::optional<Orphans::Orphan> Orphans::take(const Entry& entry) {
  const auto found = orphans_.find(entry.sequence);
  if (found == orphans_.end() || found->second.tenure != entry.tenure) return std::nullopt;
  auto orphan = found->second;
  orphans_.erase(found);
  return orphan;
}

void Orphans::found_retrying(const spi::RetryingKey& key) {
  const auto found = orphans_.find(key.sequence);
  if (found == orphans_.end() || found->second.key_hash != key.key_hash) return;
  found->second.retrying = true;
}

bool Orphans::hold(const spi::Row& row) const {
  if (orphans_.empty()) return false;
  const auto found = orphans_.find(row.sequence);
  // After a fail-over another message may have the same sequence.
  return found != orphans_.end() && found->second.id == row.id;
}

bool Orphans::hold_key(std::uint64_t key_hash) const {
  return std::any_of(orphans_.begin(), orphans_.end(),
                     [&](const auto& orphan) { return orphan.second.key_hash == key_hash; });
}

}  // namespace sagabox::outbox
