#pragma once

#include <sagabox/id.hpp>
#include <sagabox/spi/gate.hpp>

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace sagabox::flow {

using spi::ClassId;

/// The classes that forward reads of one lane have skipped, and the sequence from which each
/// continues. Nothing is written to the store for them. Pure.
///
/// A class is closed (its rows are skipped) or resuming (catch-up reads take its rows from its
/// lowest sequence on, while forward reads still skip them, to keep their order). It is removed
/// when a catch-up read has reached the position of the forward reads.
class DeferredClasses {
 public:
  /// Skips this row and closes its class.
  void defer(ClassId id, Sequence sequence);
  /// Resumes the class. Returns false if it was not closed.
  bool resume(ClassId id);
  /// Resumes all closed classes; those that still cannot be dispatched will be deferred again.
  void resume_all();
  /// Resumes the closed classes for which `may_go` returns true.
  template <class MayGo>
  void resume_if(MayGo&& may_go) {
    for (auto at = closed_.begin(); at != closed_.end();) {
      const auto next = std::next(at);
      if (may_go(at->first)) resuming_.insert(closed_.extract(at));
      at = next;
    }
  }

  /// Whether a row of a page that begins above `page_after` may be dispatched. If so, it counts as
  /// taken until `defer` or `requeue` is called for it.
  [[nodiscard]] bool may_consider(ClassId id, Sequence sequence, Sequence page_after);
  /// There was no room for the row, and the page ends before it.
  void requeue(ClassId id, Sequence sequence);

  /// The start of the next catch-up read; nullopt if no class is resuming.
  [[nodiscard]] std::optional<Sequence> catch_up_after() const;

  /// A page that begins above `after` has been processed up to `last`; `level`: it reached the
  /// position of the forward reads.
  void page_seen(Sequence after, Sequence last, bool level);

  [[nodiscard]] std::size_t size() const noexcept { return closed_.size() + resuming_.size(); }
  [[nodiscard]] bool closed(ClassId id) const { return closed_.contains(id); }
  [[nodiscard]] bool contains(ClassId id) const {
    return closed_.contains(id) || resuming_.contains(id);
  }
  /// The lowest sequence of the class that has not been taken; nullopt if it is not deferred.
  [[nodiscard]] std::optional<Sequence> lowest(ClassId id) const;

 private:
  using Lowest = std::map<ClassId, Sequence>;  ///< the lowest sequence not taken
  Lowest closed_;
  Lowest resuming_;
};

}  // namespace sagabox::flow
