#include "flow/suspects.hpp"

#include <limits>

namespace sagabox::flow {
namespace {

/// A sweep for old entries visits all entries, so it is limited to this interval.
constexpr Duration sweep_every = std::chrono::seconds(30);

}  // namespace

void Suspects::arrived(std::uint64_t message) {
  const auto found = known_.find(message);
  if (found == known_.end()) return arrived();
  failed_ += found->second.times;
  known_.erase(found);
}

Suspects::Judged Suspects::failed(std::uint64_t message, bool down, BootTime now, bool known) {
  auto* const suspect = find_or_add(message, now);
  if (suspect == nullptr) {
    if (!known) ++failed_;
    return {.times = std::numeric_limits<std::uint32_t>::max()};
  }
  const auto arrived = arrived_ - suspect->arrived;
  const auto failed = failed_ - suspect->failed;
  const bool again = suspect->times > 0;
  const bool blamed = !down && again && arrived >= failed && (arrived > 0 || suspect->blamed);
  if (!again) ++failed_;
  ++suspect->times;
  suspect->blamed = suspect->blamed || blamed;
  suspect->arrived = arrived_;
  suspect->failed = failed_;
  suspect->seen = now;
  return {.blamed = blamed, .times = suspect->times};
}

Suspects::Judged Suspects::failed_alone(std::uint64_t message, BootTime now) {
  if (auto* const suspect = find_or_add(message, now)) {
    ++suspect->times;
    suspect->blamed = true;
    suspect->arrived = arrived_;
    suspect->failed = failed_;
    suspect->seen = now;
  }
  return {.blamed = true};
}

Suspects::Suspect* Suspects::find_or_add(std::uint64_t message, BootTime now) {
  if (const auto found = known_.find(message); found != known_.end()) return &found->second;
  if (known_.size() >= messages_max && (swept_ == BootTime::min() || now - swept_ >= sweep_every)) {
    swept_ = now;
    std::erase_if(known_,
                  [&](const auto& entry) { return now - entry.second.seen >= remembered_for; });
  }
  if (known_.size() >= messages_max) return nullptr;
  return &known_[message];
}

}  // namespace sagabox::flow
