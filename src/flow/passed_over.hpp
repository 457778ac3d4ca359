#pragma once

#include "flow/deferred.hpp"
#include "flow/key_filter.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace sagabox::flow {

/// Tracks the rows that forward reads of one lane have skipped, and where to continue: classes that
/// cannot be dispatched now, the keys of their messages, and keys that wait for an earlier message.
/// Nothing is written to the store for any of them. Pure.
///
/// A key behind a class has no state of its own: it resumes with the class, so that a class that
/// closes again costs nothing for its keys. The keys use at most `key_bytes_max` plus 512 bytes per
/// class, each filter half of the memory that is left; above that limit some keys wait
/// unnecessarily (see KeyFilter), but no key is dispatched too early.
///
/// A class may stay closed for a long time, or for ever. Therefore a *review* reads the skipped
/// rows again, from the lowest one. When it ends, only the keys that it found still wait behind the
/// class; rows that were held because of other keys are released.
class PassedOver {
 public:
  static constexpr std::size_t key_bytes_default = std::size_t{8} << 20U;
  /// 0 tracks no keys, so that they are overtaken. Only for tests that verify that this is
  /// detected.
  explicit PassedOver(std::size_t key_bytes_max = key_bytes_default)
      : key_bytes_max_(key_bytes_max) {}

  /// The context of a row in a query for its key.
  struct Row {
    std::optional<ClassId> own{};  ///< its class
    bool review = false;           ///< the page began at `review_after`
  };
  /// Whether a row of a page that begins above `page_after` may be dispatched: query its key first,
  /// then its class. If true, the row counts as taken unless it is deferred or put back.
  [[nodiscard]] bool key_may_go(std::uint64_t key_hash, Sequence sequence, Sequence page_after,
                                Row row);
  [[nodiscard]] bool key_may_go(std::uint64_t key_hash, Sequence sequence, Sequence page_after) {
    return key_may_go(key_hash, sequence, page_after, Row{});
  }
  [[nodiscard]] bool class_may_go(ClassId id, Sequence sequence, Sequence page_after) {
    return classes_.may_consider(id, sequence, page_after);
  }

  /// Closes the class.
  void defer(ClassId id, Sequence sequence) { classes_.defer(id, sequence); }
  /// The message of the key at `sequence` was skipped, and later ones of the key wait with the
  /// class, which is deferred.
  void wait_behind(ClassId id, std::uint64_t key_hash, Sequence sequence);
  /// The key waits for an earlier message until it is resumed.
  void defer_key(std::uint64_t key_hash, Sequence sequence) {
    keys_.defer(ClassId{key_hash}, sequence);
  }

  /// Returns false if it was not deferred.
  bool resume(ClassId id) { return classes_.resume(id); }
  bool resume_key(std::uint64_t key_hash) { return keys_.resume(ClassId{key_hash}); }
  /// Resumes the classes that `may_go` allows.
  template <class MayGo>
  void resume_if(MayGo&& may_go) {
    classes_.resume_if(std::forward<MayGo>(may_go));
  }

  /// There was no room for the row, and the page ends before it.
  void requeue(ClassId id, Sequence sequence) { classes_.requeue(id, sequence); }
  void requeue_key(std::uint64_t key_hash, Sequence sequence);

  /// The start of the next catch-up read; nullopt if nothing is resuming.
  [[nodiscard]] std::optional<Sequence> catch_up_after() const;
  /// See DeferredClasses.
  void page_seen(Sequence after, Sequence last, bool level, bool review = false);

  /// Other processes may have removed rows.
  void rows_may_be_gone();
  /// Whether a row was held because of a key that may not wait behind its class any more.
  [[nodiscard]] bool worth_review() const;
  /// No-op while a review is running.
  void begin_review();
  /// The start of the next page of the review; nullopt if none is running.
  [[nodiscard]] std::optional<Sequence> review_after() const noexcept { return reviewed_; }

  /// The classes that a message of the key at `sequence` may wait behind.
  [[nodiscard]] std::vector<ClassId> behind(std::uint64_t key_hash, Sequence sequence) const;

  /// Whether messages of the key below `sequence` may have been skipped and not taken yet. If so, a
  /// row of class `own` that is not on a page counts as held, as in `key_may_go`.
  [[nodiscard]] bool may_lack(std::uint64_t key_hash, Sequence sequence,
                              std::optional<ClassId> own = std::nullopt);

  [[nodiscard]] bool deferred(ClassId id) const { return classes_.contains(id); }
  /// Whether a row of the class at or below `sequence` has not been taken yet.
  [[nodiscard]] bool waits(ClassId id, Sequence sequence) const {
    const auto lowest = classes_.lowest(id);
    return lowest && *lowest <= sequence;
  }
  /// The number of keys that wait for an earlier message.
  [[nodiscard]] std::size_t keys() const noexcept { return keys_.size(); }
  [[nodiscard]] std::size_t key_bytes() const noexcept { return key_bytes_; }
  [[nodiscard]] bool empty() const noexcept { return classes_.size() == 0 && keys_.size() == 0; }

 private:
  /// The keys behind a class.
  struct Behind {
    KeyFilter keys{};
    std::optional<KeyFilter> still{};  ///< the keys that the review has found so far
    Sequence lowest{};                 ///< the class's lowest sequence when the last review began
    bool holds_others = false;  ///< since then, rows of other classes were held because of a key
    bool may_be_gone = false;   ///< since then, other processes may have removed its rows
  };
  void add(KeyFilter& keys, std::uint64_t key_hash);
  /// A row was skipped that the review will not read again.
  void note(Behind& behind, std::uint64_t key_hash, Sequence sequence);
  void end_review();

  DeferredClasses classes_;
  DeferredClasses keys_;  // by key hash
  std::map<ClassId, Behind> behind_;
  std::optional<Sequence> reviewed_;  // set while a review runs: its progress
  std::uint64_t reviews_ = 0;
  std::size_t key_bytes_max_;
  std::size_t key_bytes_ = 0;
};

}  // namespace sagabox::flow
