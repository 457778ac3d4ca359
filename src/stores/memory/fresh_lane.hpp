#pragma once

#include <sagabox/id.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace sagabox::memory {

/// The sequences of one shard and lane, ascending. Rows that left stay as gaps until there are
/// enough of them; `live(sequence)` tells whether a row is still there.
class FreshLane {
 public:
  /// Rows of one commit are appended in ascending order, but may be below existing ones. Then this
  /// returns true, and `merge` must be called before any other member.
  bool append(Sequence sequence) {
    const bool in_order = sequences_.empty() || sequence > sequences_.back();
    const bool all_sorted = sorted_ == sequences_.size();
    sequences_.push_back(sequence);
    if (all_sorted && in_order) ++sorted_;
    return all_sorted && !in_order;
  }

  /// Moves only the sequences above the lowest late row.
  void merge() {
    const auto begin = sequences_.begin() + static_cast<std::ptrdiff_t>(head_);
    auto from = sequences_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    auto to = sequences_.end();
    const std::vector<Sequence> tail(from, to);
    for (auto late = tail.rbegin(); late != tail.rend();) {
      if (from != begin && *(from - 1) > *late) {
        *--to = *--from;
      } else {
        *--to = *late++;
      }
    }
    sorted_ = sequences_.size();
  }

  /// A live row has left.
  template <class Live>
  void one_left(Live&& live) {
    ++gaps_;
    while (head_ < sequences_.size() && !live(sequences_[head_])) {
      ++head_;
      --gaps_;
    }
    const std::size_t kept = sequences_.size() - head_;
    if (gaps_ > gaps_min && gaps_ > kept / 4) {
      drop(head_);
      std::erase_if(sequences_, [&](Sequence sequence) { return !live(sequence); });
      gaps_ = 0;
      sorted_ = sequences_.size();
    } else if (head_ > gaps_min && head_ > kept) {
      drop(head_);
    }
  }

  /// Also true for rows that have left and are still a gap.
  [[nodiscard]] bool contains(Sequence sequence) const {
    return std::binary_search(sequences_.begin() + static_cast<std::ptrdiff_t>(head_),
                              sequences_.end(), sequence);
  }

  /// Calls `visit(sequence)` in ascending order from above `after` until it returns false; before
  /// each, calls `expect` with all remaining sequences.
  template <class Visit, class Expect>
  void each_after(Sequence after, Visit&& visit, Expect&& expect) const {
    const auto begin = sequences_.begin() + static_cast<std::ptrdiff_t>(head_);
    for (auto at = std::upper_bound(begin, sequences_.end(), after); at != sequences_.end(); ++at) {
      expect(std::span(at, sequences_.end()));
      if (!visit(*at)) return;
    }
  }

 private:
  static constexpr std::size_t gaps_min = 256;

  void drop(std::size_t count) {
    sequences_.erase(sequences_.begin(), sequences_.begin() + static_cast<std::ptrdiff_t>(count));
    head_ = 0;
    sorted_ = sequences_.size();
  }

  std::vector<Sequence> sequences_;
  std::size_t head_ = 0;    // all sequences before it have left
  std::size_t sorted_ = 0;  // ascending up to here
  std::size_t gaps_ = 0;    // between head and end
};

}  // namespace sagabox::memory
