#include "flow/deferred.hpp"

#include <algorithm>
#include <iterator>

namespace sagabox::flow {

void DeferredClasses::defer(ClassId id, Sequence sequence) {
  if (auto node = resuming_.extract(id)) closed_.insert(std::move(node));
  const auto [found, fresh] = closed_.try_emplace(id, sequence);
  found->second = std::min(found->second, sequence);
}

bool DeferredClasses::resume(ClassId id) {
  auto node = closed_.extract(id);
  if (!node) return false;
  resuming_.insert(std::move(node));
  return true;
}

bool DeferredClasses::may_consider(ClassId id, Sequence sequence, Sequence page_after) {
  if (const auto found = closed_.find(id); found != closed_.end()) {
    found->second = std::min(found->second, sequence);
    return false;
  }
  const auto found = resuming_.find(id);
  if (found == resuming_.end()) return true;
  // A page that begins above the lowest row of the class may not contain rows that must go first.
  if (page_after >= found->second) return false;
  found->second = std::max(found->second, Sequence{sequence.value + 1});
  return true;
}

void DeferredClasses::requeue(ClassId id, Sequence sequence) {
  if (const auto found = resuming_.find(id); found != resuming_.end()) {
    found->second = std::min(found->second, sequence);
  }
}

std::optional<Sequence> DeferredClasses::catch_up_after() const {
  auto lowest = std::optional<Sequence>{};
  for (const auto& [id, from] : resuming_) {
    if (!lowest || from < *lowest) lowest = from;
  }
  if (!lowest) return std::nullopt;
  return Sequence{lowest->value == 0 ? 0 : lowest->value - 1};
}

void DeferredClasses::page_seen(Sequence after, Sequence last, bool level) {
  for (auto entry = resuming_.begin(); entry != resuming_.end();) {
    auto& from = entry->second;
    const bool covered = after < from;
    if (covered) from = std::max(from, Sequence{last.value + 1});
    entry = covered && level ? resuming_.erase(entry) : std::next(entry);
  }
}

std::optional<Sequence> DeferredClasses::lowest(ClassId id) const {
  for (const auto* map : {&closed_, &resuming_}) {
    if (const auto found = map->find(id); found != map->end()) return found->second;
  }
  return std::nullopt;
}

void DeferredClasses::resume_all() { resuming_.merge(closed_); }

}  // namespace sagabox::flow
