#pragma once

#include "stores/memory/rows.hpp"

#include <sagabox/records.hpp>

#include <string_view>

namespace sagabox::memory {

/// The state of a committed row.
[[nodiscard]] MessageState state_of(const Slot& slot) noexcept;
[[nodiscard]] SlotState slot_state(MessageState state) noexcept;

/// When the row ended; for a pending row, when it was written.
[[nodiscard]] WallTime age_from(const Slot& slot) noexcept;

/// Checks the whole filter except its sequences. A row that cannot be decoded has no tenant, topic,
/// type or key.
[[nodiscard]] bool fits(const Slot& slot, const MessageFilter& filter);
/// Empty if the message cannot be decoded.
[[nodiscard]] std::string_view tenant_of(const Slot& slot) noexcept;

struct RecordParts {
  bool history = false;
  bool payload = false;
};
[[nodiscard]] MessageRecord record_of(Sequence sequence, const Slot& slot, RecordParts parts);

}  // namespace sagabox::memory
