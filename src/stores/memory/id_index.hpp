#pragma once

#include "stores/memory/rows.hpp"

#include <memory>
#include <optional>

namespace sagabox::memory {

/// Finds rows by their message id. Holds a hash and a sequence an id; the id itself is in the slot,
/// and with it the next older row that has the same.
class IdIndex {
 public:
  /// `rows` outlives the index.
  explicit IdIndex(Rows& rows);
  ~IdIndex();

  /// The newest row that has it; `Slot::older` is the next.
  [[nodiscard]] std::optional<Sequence> find(const MessageId& id) const;
  /// The row is in `rows`, and newer than all that have its id.
  void insert(const MessageId& id, Sequence sequence);
  /// Before the row leaves `rows`.
  void erase(const MessageId& id, Sequence sequence);

 private:
  struct Entries;
  Rows& rows_;
  std::unique_ptr<Entries> entries_;
};

}  // namespace sagabox::memory
