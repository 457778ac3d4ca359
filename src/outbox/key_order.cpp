#include "outbox/key_order.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sagabox::outbox {

struct KeyOrder::Chain {
  bool running = false;
  std::vector<Sequence> blockers;  // ascending; the lowest goes first
  std::vector<Entry> waiting;      // ascending
};

struct KeyOrder::Chains {
  boost::unordered_flat_map<std::uint64_t, Chain> by_key;
};

KeyOrder::KeyOrder(std::size_t chain_max)
    : chains_(std::make_unique<Chains>()), chain_max_(chain_max) {}
KeyOrder::~KeyOrder() = default;
KeyOrder::KeyOrder(KeyOrder&&) noexcept = default;
KeyOrder& KeyOrder::operator=(KeyOrder&&) noexcept = default;

KeyOrder::Place KeyOrder::offer(Entry& entry) {
  auto& chain = chains_->by_key[entry.message->key_hash()];
  if (!chain.blockers.empty()) {
    if (chain.running || entry.sequence != chain.blockers.front()) return Place::blocked;
    chain.blockers.erase(chain.blockers.begin());
    entry.was_blocking = true;
    if (chain.blockers.empty()) --blocked_;
  }
  if (!chain.running) {
    chain.running = true;
    return Place::head;
  }
  if (chain.waiting.size() >= chain_max_) return Place::full;
  const auto place = std::upper_bound(
      chain.waiting.begin(), chain.waiting.end(), entry.sequence,
      [](Sequence sequence, const Entry& waiting) { return sequence < waiting.sequence; });
  chain.waiting.insert(place, std::move(entry));
  return Place::waiting;
}

std::optional<Entry> KeyOrder::advance(std::uint64_t key_hash) {
  const auto found = chains_->by_key.find(key_hash);
  if (found == chains_->by_key.end()) return std::nullopt;
  auto& chain = found->second;
  if (chain.waiting.empty()) {
    chain.running = false;
    if (chain.blockers.empty()) chains_->by_key.erase(found);
    return std::nullopt;
  }
  auto next = std::move(chain.waiting.front());
  chain.waiting.erase(chain.waiting.begin());
  return next;
}

std::vector<Entry> KeyOrder::block(std::uint64_t key_hash, Sequence sequence) {
  auto& chain = chains_->by_key[key_hash];
  chain.running = false;
  if (chain.blockers.empty()) ++blocked_;
  const auto place = std::lower_bound(chain.blockers.begin(), chain.blockers.end(), sequence);
  if (place == chain.blockers.end() || *place != sequence) chain.blockers.insert(place, sequence);
  return std::exchange(chain.waiting, {});
}

std::optional<std::uint64_t> KeyOrder::unblock(Sequence sequence) {
  if (blocked_ == 0) return std::nullopt;
  for (const auto& [key_hash, chain] : chains_->by_key) {
    const auto blocking = key_hash;
    if (std::binary_search(chain.blockers.begin(), chain.blockers.end(), sequence)) {
      (void)unblock(blocking, sequence);
      return blocking;
    }
  }
  return std::nullopt;
}

bool KeyOrder::unblock(std::uint64_t key_hash, Sequence sequence) {
  const auto found = chains_->by_key.find(key_hash);
  if (found == chains_->by_key.end()) return false;
  auto& chain = found->second;
  if (std::erase(chain.blockers, sequence) == 0) return false;
  if (!chain.blockers.empty()) return true;
  --blocked_;
  if (!chain.running) chains_->by_key.erase(found);
  return true;
}

std::vector<Entry> KeyOrder::release(std::uint64_t key_hash) {
  const auto found = chains_->by_key.find(key_hash);
  if (found == chains_->by_key.end()) return {};
  auto waiting = std::exchange(found->second.waiting, {});
  found->second.running = false;
  if (found->second.blockers.empty()) chains_->by_key.erase(found);
  return waiting;
}

bool KeyOrder::roomy(std::uint64_t key_hash) const {
  const auto found = chains_->by_key.find(key_hash);
  return found == chains_->by_key.end() ||
         (found->second.blockers.empty() && found->second.waiting.size() <= chain_max_ / 2);
}

std::vector<Sequence> KeyOrder::blockers() const {
  std::vector<Sequence> all;
  if (blocked_ == 0) return all;
  for (const auto& [hash, chain] : chains_->by_key) {
    all.insert(all.end(), chain.blockers.begin(), chain.blockers.end());
  }
  return all;
}

std::vector<Entry> KeyOrder::clear() {
  std::vector<Entry> waiting;
  for (auto& [hash, chain] : chains_->by_key) {
    std::move(chain.waiting.begin(), chain.waiting.end(), std::back_inserter(waiting));
  }
  chains_->by_key.clear();
  blocked_ = 0;
  return waiting;
}

}  // namespace sagabox::outbox
