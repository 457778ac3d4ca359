#include "flow/passed_over.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::flow {

bool PassedOver::key_may_go(std::uint64_t key_hash, Sequence sequence, Sequence page_after,
                            Row row) {
  if (row.review && reviewed_) reviewed_ = sequence;
  if (!keys_.may_consider(ClassId{key_hash}, sequence, page_after)) return false;
  for (auto& [id, behind] : behind_) {
    // The review has seen every earlier row of the key that still waits.
    const auto& keys = row.review && behind.still ? *behind.still : behind.keys;
    if (!keys.contains(key_hash) || classes_.may_consider(id, sequence, page_after)) continue;
    note(behind, key_hash, sequence);
    behind.holds_others = behind.holds_others || row.own != id;
    return false;
  }
  return true;
}

void PassedOver::wait_behind(ClassId id, std::uint64_t key_hash, Sequence sequence) {
  if (key_bytes_max_ == 0) return;
  const auto [found, fresh] = behind_.try_emplace(id);
  auto& behind = found->second;
  if (fresh) behind.lowest = classes_.lowest(id).value_or(sequence);
  add(behind.keys, key_hash);
  note(behind, key_hash, sequence);
}

void PassedOver::note(Behind& behind, std::uint64_t key_hash, Sequence sequence) {
  if (behind.still && reviewed_ && sequence <= *reviewed_) add(*behind.still, key_hash);
}

void PassedOver::add(KeyFilter& keys, std::uint64_t key_hash) {
  const auto before = keys.bytes();
  // Use half of the remaining memory, so that some is left for the next filter.
  const auto left = key_bytes_max_ - std::min(key_bytes_max_, key_bytes_ - before);
  keys.add(key_hash, left / 2);
  key_bytes_ += keys.bytes() - before;
}

void PassedOver::requeue_key(std::uint64_t key_hash, Sequence sequence) {
  keys_.requeue(ClassId{key_hash}, sequence);
  for (const auto& [id, behind] : behind_) {
    if (behind.keys.contains(key_hash)) classes_.requeue(id, sequence);
  }
}

std::optional<Sequence> PassedOver::catch_up_after() const {
  const auto of_classes = classes_.catch_up_after();
  const auto of_keys = keys_.catch_up_after();
  if (!of_classes || !of_keys) return of_classes ? of_classes : of_keys;
  return std::min(*of_classes, *of_keys);
}

void PassedOver::page_seen(Sequence after, Sequence last, bool level, bool review) {
  classes_.page_seen(after, last, level);
  keys_.page_seen(after, last, level);
  std::erase_if(behind_, [this](const auto& entry) {
    const auto& [id, behind] = entry;
    if (classes_.contains(id)) return false;
    key_bytes_ -= behind.keys.bytes() + (behind.still ? behind.still->bytes() : 0);
    return true;
  });
  if (!review || !reviewed_) return;
  reviewed_ = last;
  if (level) end_review();
}

void PassedOver::rows_may_be_gone() {
  for (auto& [id, behind] : behind_) behind.may_be_gone = true;
}

bool PassedOver::worth_review() const {
  return std::ranges::any_of(behind_, [this](const auto& entry) {
    const auto& [id, behind] = entry;
    if (!behind.holds_others) return false;
    return behind.may_be_gone || !behind.keys.exact() || classes_.lowest(id) > behind.lowest;
  });
}

void PassedOver::begin_review() {
  if (reviewed_) return;
  auto from = std::optional<Sequence>{};
  for (auto& [id, behind] : behind_) {
    behind.lowest = *classes_.lowest(id);
    behind.holds_others = false;
    behind.may_be_gone = false;
    // The new filter has another seed, so its false positives are other keys.
    behind.still.emplace(++reviews_);
    from = from ? std::min(*from, behind.lowest) : behind.lowest;
  }
  if (from) reviewed_ = Sequence{from->value == 0 ? 0 : from->value - 1};
}

void PassedOver::end_review() {
  reviewed_.reset();
  for (auto& [id, behind] : behind_) {
    if (!behind.still) continue;
    key_bytes_ -= behind.keys.bytes();
    behind.keys = *std::exchange(behind.still, std::nullopt);
  }
}

std::vector<ClassId> PassedOver::behind(std::uint64_t key_hash, Sequence sequence) const {
  std::vector<ClassId> found;
  for (const auto& [id, behind] : behind_) {
    const auto lowest = classes_.lowest(id);
    if (lowest && *lowest < sequence && behind.keys.contains(key_hash)) found.push_back(id);
  }
  return found;
}

bool PassedOver::may_lack(std::uint64_t key_hash, Sequence sequence, std::optional<ClassId> own) {
  const auto lowest = keys_.lowest(ClassId{key_hash});
  if (lowest && *lowest < sequence) return true;
  const auto classes = behind(key_hash, sequence);
  for (const auto id : classes) {
    if (id != own) behind_.at(id).holds_others = true;
  }
  return !classes.empty();
}

}  // namespace sagabox::flow
