#pragma once

#include "stores/memory/rows.hpp"

#include <memory>
#include <optional>

namespace sagabox::memory {

/// Finds a row by its message id. Holds a hash and a sequence a row; the id itself is in the slot.
class IdIndex {
 public:
  /// `rows` outlives the index.
  explicit IdIndex(const Rows& rows);
  ~IdIndex();

  [[nodiscard]] std::optional<Sequence> find(const MessageId& id) const;
  /// The row is in `rows`, its id is not yet here.
  void insert(const MessageId& id, Sequence sequence);
  /// Before the row leaves `rows`.
  void erase(const MessageId& id);

 private:
  struct Entries;
  std::unique_ptr<Entries> entries_;
};

}  // namespace sagabox::memory
