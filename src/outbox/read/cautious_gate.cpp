#include "outbox/read/cautious_gate.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sagabox::outbox {

std::optional<Entry> CautiousGate::next() {
  if (waiting_.empty() || alone_) return std::nullopt;
  const bool suspect = waiting_.front().attempts > 0;
  if (in_flight_ >= (suspect ? 1 : together_max)) return std::nullopt;
  auto entry = std::move(waiting_.front());
  waiting_.pop_front();
  ++in_flight_;
  alone_ = suspect;
  return entry;
}

std::optional<Entry> CautiousGate::written(Shard shard, Sequence sequence, std::uint32_t tenure) {
  const auto found = std::find_if(writing_.begin(), writing_.end(), [&](const Entry& entry) {
    return entry.shard == shard && entry.sequence == sequence && entry.tenure == tenure;
  });
  if (found == writing_.end()) return std::nullopt;
  auto entry = std::move(*found);
  writing_.erase(found);
  return entry;
}

void CautiousGate::finished() {
  --in_flight_;
  if (in_flight_ == 0) alone_ = false;
}

std::vector<Entry> CautiousGate::drop(Shard shard) {
  std::vector<Entry> dropped;
  const auto of_shard = [&](const Entry& entry) { return entry.shard == shard; };
  for (auto& entry : writing_) {
    if (!of_shard(entry)) continue;
    dropped.push_back(entry);
    finished();
  }
  std::copy_if(waiting_.begin(), waiting_.end(), std::back_inserter(dropped), of_shard);
  std::erase_if(writing_, of_shard);
  std::erase_if(waiting_, of_shard);
  return dropped;
}

}  // namespace sagabox::outbox
