#pragma once

#include <sagabox/id.hpp>
#include <sagabox/spi/gate.hpp>

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace sagabox::flow {

using spi::ClassId;

/// The classes that forward reads of one lane have passed over, and from where each is to be taken
/// up again. Nothing is written to the store for them. Pure.
///
/// A class is closed (its rows are passed over) or resuming (catch-up reads take its rows from its
/// lowest sequence on, while forward reads still pass over them, so that their order holds). It is
/// gone once a catch-up read has come level with the forward reads.
class DeferredClasses {
 public:
  /// Passes over this row: the class is closed.
  void defer(ClassId id, Sequence sequence);
  /// The class may go again. False: it was not deferred.
  bool resume(ClassId id);
  /// Considers all of them again; those that still cannot go are deferred again.
  void resume_all();
  /// The same for those that `may_go` says yes to.
  template <class MayGo>
  void resume_if(MayGo&& may_go) {
    for (auto at = closed_.begin(); at != closed_.end();) {
      const auto next = std::next(at);
      if (may_go(at->first)) resuming_.insert(closed_.extract(at));
      at = next;
    }
  }

  /// Whether a row may be considered that a page beginning above `page_after` shows. If so, it
  /// counts as taken unless it is deferred or put back.
  [[nodiscard]] bool may_consider(ClassId id, Sequence sequence, Sequence page_after);
  /// The row was considered, but there was no room for it; the page ends before it.
  void put_back(ClassId id, Sequence sequence);

  /// Where the next catch-up read begins; nothing if no class is resuming.
  [[nodiscard]] std::optional<Sequence> catch_up_after() const;

  /// A page beginning above `after` has been looked at up to `last`; `level`: it reached the
  /// forward reads.
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
