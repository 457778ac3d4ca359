#pragma once

#include "stores/memory/rows.hpp"

#include <memory>
#include <optional>

namespace sagabox::memory {

/// Finds rows by their message id. Stores a hash and a sequence for each id; the slot has the id
/// itself, and the next older row with the same id.
class IdIndex {
 public:
  /// `rows` must outlive the index.
  explicit IdIndex(Rows& rows);
  ~IdIndex();

  /// The newest row with this id; `Slot::older` is the next.
  [[nodiscard]] std::optional<Sequence> find(const MessageId& id) const;
  /// The row must be in `rows`, and newer than all rows with its id.
  void insert(const MessageId& id, Sequence sequence);
  /// Call it before the row leaves `rows`.
  void erase(const MessageId& id, Sequence sequence);

 private:
  struct Entries;
  Rows& rows_;
  std::unique_ptr<Entries> entries_;
};

}  // namespace sagabox::memory
