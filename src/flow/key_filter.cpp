#include "flow/key_filter.hpp"

#include <utility>

namespace sagabox::flow {
namespace {

constexpr unsigned word_bits = 32;
/// Bits set per key: nearly optimal for 6 bits of memory per key, and cheap.
constexpr unsigned bits_per_key = 4;

std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ (value >> 32U)) * 0xD6E8FEB86659FD93ULL;
  value = (value ^ (value >> 32U)) * 0xD6E8FEB86659FD93ULL;
  return value ^ (value >> 32U);
}

}  // namespace

KeyFilter::Fingerprint KeyFilter::fingerprint(std::uint64_t key_hash) const noexcept {
  const auto print = static_cast<Fingerprint>(mixed(key_hash ^ mixed(seed_)));
  return print == 0 ? 1 : print;
}

std::size_t KeyFilter::slot_of(Fingerprint print) const noexcept {
  const auto mask = words_.size() - 1;
  auto slot = mixed(print) & mask;
  while (words_[slot] != 0 && words_[slot] != print) slot = (slot + 1) & mask;
  return slot;
}

template <class Visit>
void KeyFilter::for_each_bit(Fingerprint print, Visit&& visit) const {
  const auto mask = words_.size() * word_bits - 1;
  const auto hash = mixed(print);
  const auto step = (hash >> 32U) | 1U;
  for (unsigned number = 0; number < bits_per_key; ++number) {
    const auto bit = (hash + number * step) & mask;
    if (!visit(bit / word_bits, 1U << (bit % word_bits))) return;
  }
}

void KeyFilter::grow() {
  const auto before = std::exchange(words_, std::vector<std::uint32_t>(words_.size() * 2));
  for (const auto print : before) {
    if (print != 0) words_[slot_of(print)] = print;
  }
}

void KeyFilter::become_bloom() {
  const auto prints = std::exchange(words_, std::vector<std::uint32_t>(words_.size()));
  bloom_ = true;
  for (const auto print : prints) {
    if (print == 0) continue;
    for_each_bit(print, [this](std::size_t word, std::uint32_t bit) {
      words_[word] |= bit;
      return true;
    });
  }
}

void KeyFilter::add(std::uint64_t key_hash, std::size_t bytes_max) {
  if (words_.empty()) words_.resize(bytes_min / sizeof(words_[0]));
  const auto print = fingerprint(key_hash);
  if (!bloom_) {
    if (words_[slot_of(print)] == print) return;
    // At most three quarters full, so that probe sequences stay short.
    if ((size_ + 1) * 4 > words_.size() * 3) {
      if (2 * bytes() <= bytes_max) {
        grow();
      } else {
        become_bloom();
      }
    }
  }
  if (!bloom_) {
    ++size_;
    words_[slot_of(print)] = print;
    return;
  }
  bool fresh = false;
  for_each_bit(print, [&](std::size_t word, std::uint32_t bit) {
    fresh = fresh || (words_[word] & bit) == 0;
    words_[word] |= bit;
    return true;
  });
  if (fresh) ++size_;
}

bool KeyFilter::contains(std::uint64_t key_hash) const noexcept {
  if (words_.empty()) return false;
  const auto print = fingerprint(key_hash);
  if (!bloom_) return words_[slot_of(print)] == print;
  bool all = true;
  for_each_bit(print, [&](std::size_t word, std::uint32_t bit) {
    all = (words_[word] & bit) != 0;
    return all;
  });
  return all;
}

}  // namespace sagabox::flow
