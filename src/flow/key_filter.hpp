#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sagabox::flow {

/// A set of key hashes in bounded memory. It contains every key that was added. While its memory
/// may grow it is exact but for keys whose hashes agree in 32 bits; at the bound it becomes a Bloom
/// filter of that size, which also contains keys that were never added: few at first, more with
/// every key. Pure.
class KeyFilter {
 public:
  KeyFilter() = default;
  /// With another seed other keys hit it falsely.
  explicit KeyFilter(std::uint64_t seed) : seed_(seed) {}

  /// `bytes_max`: how large it may become by this call.
  void add(std::uint64_t key_hash, std::size_t bytes_max);
  [[nodiscard]] bool contains(std::uint64_t key_hash) const noexcept;

  /// Keys added; no longer exact, it leaves out those that it hit falsely when they were added.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool exact() const noexcept { return !bloom_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return words_.size() * sizeof(words_[0]); }

  /// It never has less than this once a key was added.
  static constexpr std::size_t bytes_min = 256;

 private:
  using Fingerprint = std::uint32_t;  // 0: an empty slot

  [[nodiscard]] Fingerprint fingerprint(std::uint64_t key_hash) const noexcept;
  /// Where the fingerprint is, or the empty slot where it belongs.
  [[nodiscard]] std::size_t slot_of(Fingerprint print) const noexcept;
  void grow();
  void become_bloom();
  template <class Visit>
  void for_each_bit(Fingerprint print, Visit&& visit) const;

  std::vector<std::uint32_t> words_;  // fingerprints, or bits; a power of two of them
  std::uint64_t seed_ = 0;
  std::size_t size_ = 0;
  bool bloom_ = false;
};

}  // namespace sagabox::flow
