#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sagabox::flow {

/// A set of key hashes in bounded memory. It contains every key that was added. While its memory
/// may grow it is exact, except for keys with the same 32-bit fingerprint; at the bound it becomes
/// a Bloom filter of that size, whose rate of false positives increases with every key. Pure.
class KeyFilter {
 public:
  KeyFilter() = default;
  /// A different seed gives different false positives.
  explicit KeyFilter(std::uint64_t seed) : seed_(seed) {}

  /// `bytes_max`: the largest size after this call.
  void add(std::uint64_t key_hash, std::size_t bytes_max);
  [[nodiscard]] bool contains(std::uint64_t key_hash) const noexcept;

  /// The number of keys added. If not exact, keys that were false positives when they were added
  /// are not counted.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool exact() const noexcept { return !bloom_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return words_.size() * sizeof(words_[0]); }

  /// The size after the first key was added.
  static constexpr std::size_t bytes_min = 256;

 private:
  using Fingerprint = std::uint32_t;  // 0: an empty slot

  [[nodiscard]] Fingerprint fingerprint(std::uint64_t key_hash) const noexcept;
  /// The slot with the fingerprint, or the empty slot for it.
  [[nodiscard]] std::size_t slot_of(Fingerprint print) const noexcept;
  void grow();
  void become_bloom();
  template <class Visit>
  void for_each_bit(Fingerprint print, Visit&& visit) const;

  std::vector<std::uint32_t> words_;  // fingerprints, or bits; the size is a power of two
  std::uint64_t seed_ = 0;
  std::size_t size_ = 0;
  bool bloom_ = false;
};

}  // namespace sagabox::flow
