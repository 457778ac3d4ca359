#include "outbox/read/key_order.hpp"

#include "flow/key_filter.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sagabox::outbox {

/// A key whose head is running.
struct KeyOrder::Chain {
  std::vector<Entry> waiting;  // ascending
};

struct KeyOrder::State {
  boost::unordered_flat_map<std::uint64_t, Chain> running;
  /// The lowest blocker of each key; most have one.
  boost::unordered_flat_map<std::uint64_t, Sequence> blocked;
  boost::unordered_flat_map<std::uint64_t, std::vector<Sequence>> further;  // ascending
  flow::KeyFilter overflow;
  std::optional<flow::KeyFilter> counted;
  std::uint64_t recounts = 0;
  /// Keys in the overflow whose retry is not settled yet.
  boost::unordered_flat_map<Sequence, std::uint64_t, std::hash<Sequence>> unsettled;
};

KeyOrder::KeyOrder(const Limits& limits) : state_(std::make_unique<State>()), limits_(limits) {}
KeyOrder::~KeyOrder() = default;
KeyOrder::KeyOrder(KeyOrder&&) noexcept = default;
KeyOrder& KeyOrder::operator=(KeyOrder&&) noexcept = default;

bool KeyOrder::has_blocker(std::uint64_t key_hash) const {
  return state_->blocked.contains(key_hash);
}

bool KeyOrder::may_be_blocked(std::uint64_t key_hash) const {
  return has_blocker(key_hash) || state_->overflow.contains(key_hash);
}

bool KeyOrder::blocks(std::uint64_t key_hash, Sequence sequence) const {
  const auto found = state_->blocked.find(key_hash);
  return found != state_->blocked.end() && found->second == sequence;
}

KeyOrder::Place KeyOrder::offer(Entry& entry) {
  const auto key_hash = entry.message->key_hash();
  const auto chain = state_->running.find(key_hash);
  const bool runs = chain != state_->running.end();
  if (has_blocker(key_hash)) {
    if (runs || !blocks(key_hash, entry.sequence)) return Place::blocked;
    (void)unblock(key_hash, entry.sequence);
    entry.was_blocking = true;
  } else if (state_->overflow.contains(key_hash)) {
    // A message that waits for its retry blocks its key, or comes before the message that does.
    if (!entry.was_retrying) return Place::maybe_blocked;
    if (runs) return Place::blocked;
    entry.was_blocking = true;
  }
  if (!runs) {
    state_->running.try_emplace(key_hash);
    return Place::head;
  }
  auto& waiting = chain->second.waiting;
  if (waiting.size() >= limits_.chain_max) return Place::full;
  const auto place = std::upper_bound(
      waiting.begin(), waiting.end(), entry.sequence,
      [](Sequence sequence, const Entry& other) { return sequence < other.sequence; });
  waiting.insert(place, std::move(entry));
  return Place::waiting;
}

std::optional<Entry> KeyOrder::advance(std::uint64_t key_hash) {
  const auto found = state_->running.find(key_hash);
  if (found == state_->running.end()) return std::nullopt;
  auto& waiting = found->second.waiting;
  if (waiting.empty()) {
    state_->running.erase(found);
    return std::nullopt;
  }
  auto next = std::move(waiting.front());
  waiting.erase(waiting.begin());
  return next;
}

std::vector<Entry> KeyOrder::block(std::uint64_t key_hash, Sequence sequence) {
  auto waiting = release(key_hash);
  const auto known = state_->blocked.find(key_hash);
  if (known != state_->blocked.end()) {
    if (known->second == sequence) return waiting;
    auto& further = state_->further[key_hash];
    const auto later = std::max(known->second, sequence);
    known->second = std::min(known->second, sequence);
    const auto place = std::lower_bound(further.begin(), further.end(), later);
    if (place == further.end() || *place != later) further.insert(place, later);
  } else if (state_->blocked.size() < limits_.blocked_max) {
    state_->blocked.emplace(key_hash, sequence);
  } else {
    state_->overflow.add(key_hash, limits_.overflow_bytes_max);
    if (state_->counted) state_->counted->add(key_hash, limits_.overflow_bytes_max);
  }
  return waiting;
}

std::vector<Entry> KeyOrder::block_unsettled(std::uint64_t key_hash, Sequence sequence) {
  auto waiting = block(key_hash, sequence);
  if (!has_blocker(key_hash)) state_->unsettled.emplace(sequence, key_hash);
  return waiting;
}

void KeyOrder::settled(Sequence sequence) { state_->unsettled.erase(sequence); }

std::optional<std::uint64_t> KeyOrder::unblock(Sequence sequence) {
  const auto first = std::ranges::find_if(
      state_->blocked, [&](const auto& entry) { return entry.second == sequence; });
  auto key_hash = std::optional<std::uint64_t>{};
  if (first != state_->blocked.end()) {
    key_hash = first->first;
  } else {
    const auto later = std::ranges::find_if(state_->further, [&](const auto& entry) {
      return std::binary_search(entry.second.begin(), entry.second.end(), sequence);
    });
    if (later == state_->further.end()) return std::nullopt;
    key_hash = later->first;
  }
  (void)unblock(*key_hash, sequence);
  return key_hash;
}

bool KeyOrder::unblock(std::uint64_t key_hash, Sequence sequence) {
  const auto found = state_->blocked.find(key_hash);
  if (found == state_->blocked.end()) return false;
  const auto more = state_->further.find(key_hash);
  if (more == state_->further.end()) {
    if (found->second != sequence) return false;
    state_->blocked.erase(found);
    return true;
  }
  auto& further = more->second;
  if (found->second == sequence) {
    found->second = further.front();
    further.erase(further.begin());
  } else if (std::erase(further, sequence) == 0) {
    return false;
  }
  if (further.empty()) state_->further.erase(more);
  return true;
}

std::vector<Entry> KeyOrder::release(std::uint64_t key_hash) {
  const auto found = state_->running.find(key_hash);
  if (found == state_->running.end()) return {};
  auto waiting = std::move(found->second.waiting);
  state_->running.erase(found);
  return waiting;
}

bool KeyOrder::roomy(std::uint64_t key_hash) const {
  if (has_blocker(key_hash)) return false;
  const auto found = state_->running.find(key_hash);
  return found == state_->running.end() || found->second.waiting.size() <= limits_.chain_max / 2;
}

std::size_t KeyOrder::blocked() const noexcept {
  return state_->blocked.size() + state_->overflow.size();
}

std::vector<spi::RetryingKey> KeyOrder::blockers() const {
  std::vector<spi::RetryingKey> all;
  for (const auto& [key_hash, sequence] : state_->blocked) all.push_back({key_hash, sequence});
  for (const auto& [key_hash, further] : state_->further) {
    for (const auto sequence : further) all.push_back({key_hash, sequence});
  }
  return all;
}

std::vector<Entry> KeyOrder::clear() {
  std::vector<Entry> all;
  for (auto& [key_hash, chain] : state_->running) {
    std::move(chain.waiting.begin(), chain.waiting.end(), std::back_inserter(all));
  }
  *state_ = State{};
  return all;
}

bool KeyOrder::overflowed() const noexcept { return !state_->overflow.empty(); }

void KeyOrder::begin_recount() {
  // The new filter has another seed, so its false positives are other keys.
  auto& counted = state_->counted.emplace(++state_->recounts);
  for (const auto& [sequence, key_hash] : state_->unsettled) {
    counted.add(key_hash, limits_.overflow_bytes_max);
  }
}

void KeyOrder::still_blocked(std::uint64_t key_hash, Sequence sequence) {
  if (!state_->counted || blocks(key_hash, sequence)) return;
  state_->counted->add(key_hash, limits_.overflow_bytes_max);
}

bool KeyOrder::end_recount() {
  if (!state_->counted) return false;
  state_->overflow = *std::exchange(state_->counted, std::nullopt);
  return true;
}

}  // namespace sagabox::outbox
