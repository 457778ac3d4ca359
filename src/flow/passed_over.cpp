#include "flow/passed_over.hpp"

#include <algorithm>

namespace sagabox::flow {

bool PassedOver::key_may_go(std::uint64_t key_hash, Sequence sequence, Sequence page_after) {
  if (!keys_.may_consider(ClassId{key_hash}, sequence, page_after)) return false;
  for (const auto& [id, keys] : behind_) {
    if (keys.contains(key_hash) && !classes_.may_consider(id, sequence, page_after)) return false;
  }
  return true;
}

void PassedOver::wait_behind(ClassId id, std::uint64_t key_hash) {
  if (key_bytes_max_ == 0) return;
  auto& keys = behind_[id];
  const auto before = keys.bytes();
  // Half of what is left, so that the next class has some of it, too.
  const auto left = key_bytes_max_ - std::min(key_bytes_max_, key_bytes_ - before);
  keys.add(key_hash, left / 2);
  key_bytes_ += keys.bytes() - before;
}

void PassedOver::put_back_key(std::uint64_t key_hash, Sequence sequence) {
  keys_.put_back(ClassId{key_hash}, sequence);
  for (const auto& [id, keys] : behind_) {
    if (keys.contains(key_hash)) classes_.put_back(id, sequence);
  }
}

std::optional<Sequence> PassedOver::catch_up_after() const {
  const auto of_classes = classes_.catch_up_after();
  const auto of_keys = keys_.catch_up_after();
  if (!of_classes || !of_keys) return of_classes ? of_classes : of_keys;
  return std::min(*of_classes, *of_keys);
}

void PassedOver::page_seen(Sequence after, Sequence last, bool level) {
  classes_.page_seen(after, last, level);
  keys_.page_seen(after, last, level);
  std::erase_if(behind_, [this](const auto& entry) {
    if (classes_.contains(entry.first)) return false;
    key_bytes_ -= entry.second.bytes();
    return true;
  });
}

bool PassedOver::may_lack(std::uint64_t key_hash, Sequence sequence) const {
  if (const auto lowest = keys_.lowest(ClassId{key_hash}); lowest && *lowest < sequence) {
    return true;
  }
  return std::ranges::any_of(behind_, [&](const auto& entry) {
    const auto lowest = classes_.lowest(entry.first);
    return lowest && *lowest < sequence && entry.second.contains(key_hash);
  });
}

}  // namespace sagabox::flow
