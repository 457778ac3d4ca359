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

/// What forward reads of one lane have passed over, and from where it is taken up again: classes
/// that may not go now, the keys of their messages, and keys that wait for a message of their own.
/// Nothing is written to the store for any of them. Pure.
///
/// A key behind a class has no state of its own: it is taken up with the class, so that a class
/// that closes again costs nothing for its keys. However many keys there are, they take at most
/// `key_bytes_max` and 512 bytes a class, each filter half of what the others have left; beyond
/// that some keys wait that need not (see KeyFilter), and none goes that must not.
///
/// A class may take long to come to its end, or never do so. A *review* therefore reads once more
/// what was passed over, from the lowest row on. The keys that it finds to wait still are those
/// that wait behind the class when it ends; rows that were held because of any other key go.
class PassedOver {
 public:
  static constexpr std::size_t key_bytes_default = std::size_t{8} << 20U;
  /// 0 remembers no keys: they are overtaken. For tests that show that this is noticed.
  explicit PassedOver(std::size_t key_bytes_max = key_bytes_default)
      : key_bytes_max_(key_bytes_max) {}

  /// Context of a row whose key is asked for.
  struct Row {
    std::optional<ClassId> own{};  ///< its class
    bool review = false;           ///< the page began at `review_after`
  };
  /// Whether a row may be considered that a page beginning above `page_after` shows: asked for its
  /// key first, then for its class. A yes counts as taken unless the row is deferred or put back.
  [[nodiscard]] bool key_may_go(std::uint64_t key_hash, Sequence sequence, Sequence page_after,
                                Row row);
  [[nodiscard]] bool key_may_go(std::uint64_t key_hash, Sequence sequence, Sequence page_after) {
    return key_may_go(key_hash, sequence, page_after, Row{});
  }
  [[nodiscard]] bool class_may_go(ClassId id, Sequence sequence, Sequence page_after) {
    return classes_.may_consider(id, sequence, page_after);
  }

  /// The class is closed.
  void defer(ClassId id, Sequence sequence) { classes_.defer(id, sequence); }
  /// The message of the key at `sequence` was passed over, and later ones wait with the class,
  /// which is deferred.
  void wait_behind(ClassId id, std::uint64_t key_hash, Sequence sequence);
  /// The key waits for a message of its own until it is resumed.
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

  /// The row was considered, but there was no room for it; the page ends before it.
  void put_back(ClassId id, Sequence sequence) { classes_.put_back(id, sequence); }
  void put_back_key(std::uint64_t key_hash, Sequence sequence);

  /// Where the next catch-up read begins; nullopt if nothing is resuming.
  [[nodiscard]] std::optional<Sequence> catch_up_after() const;
  /// See DeferredClasses.
  void page_seen(Sequence after, Sequence last, bool level, bool review = false);

  /// Others may have taken rows away.
  void rows_may_be_gone();
  /// A row was held because of a key that may not wait behind its class any more.
  [[nodiscard]] bool worth_review() const;
  /// No-op while one goes on.
  void begin_review();
  /// Where the next page of the review begins; nullopt if none goes on.
  [[nodiscard]] std::optional<Sequence> review_after() const noexcept { return reviewed_; }

  /// The classes that a message of the key at `sequence` may wait behind.
  [[nodiscard]] std::vector<ClassId> behind(std::uint64_t key_hash, Sequence sequence) const;

  /// Messages of the key below `sequence` may have been passed over and not been taken up yet. A
  /// yes holds a row of class `own`, which no page shows, as `key_may_go` holds others.
  [[nodiscard]] bool may_lack(std::uint64_t key_hash, Sequence sequence,
                              std::optional<ClassId> own = std::nullopt);

  [[nodiscard]] bool deferred(ClassId id) const { return classes_.contains(id); }
  /// Rows of the class from `sequence` on, or earlier ones, have not been taken up yet.
  [[nodiscard]] bool waits(ClassId id, Sequence sequence) const {
    const auto lowest = classes_.lowest(id);
    return lowest && *lowest <= sequence;
  }
  /// Keys that wait for a message of their own.
  [[nodiscard]] std::size_t keys() const noexcept { return keys_.size(); }
  [[nodiscard]] std::size_t key_bytes() const noexcept { return key_bytes_; }
  [[nodiscard]] bool empty() const noexcept { return classes_.size() == 0 && keys_.size() == 0; }

 private:
  /// The keys behind a class.
  struct Behind {
    KeyFilter keys{};
    std::optional<KeyFilter> still{};  ///< those of them that the review has found so far
    Sequence lowest{};                 ///< of the class, when the last review began
    bool holds_others = false;  ///< since then, rows of other classes were held because of a key
    bool may_be_gone = false;   ///< since then, others may have taken rows of it away
  };
  void add(KeyFilter& keys, std::uint64_t key_hash);
  /// A row that the review will not see again was passed over.
  void note(Behind& behind, std::uint64_t key_hash, Sequence sequence);
  void end_review();

  DeferredClasses classes_;
  DeferredClasses keys_;  // by their hash
  std::map<ClassId, Behind> behind_;
  std::optional<Sequence> reviewed_;  // a review goes on and has come so far
  std::uint64_t reviews_ = 0;
  std::size_t key_bytes_max_;
  std::size_t key_bytes_ = 0;
};

}  // namespace sagabox::flow
