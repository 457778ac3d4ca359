#pragma once

#include "stores/memory/rows.hpp"

#include <sagabox/records.hpp>

#include <string_view>

namespace sagabox::memory {

/// Of a committed row.
[[nodiscard]] MessageState state_of(const Slot& slot) noexcept;
[[nodiscard]] SlotState slot_state(MessageState state) noexcept;

/// When it ended; of a pending row, when it was written.
[[nodiscard]] WallTime age_from(const Slot& slot) noexcept;

/// All of the filter but its sequences. What cannot be decoded has no tenant, topic, type or key.
[[nodiscard]] bool fits(const Slot& slot, const MessageFilter& filter);
/// Empty where it cannot be decoded.
[[nodiscard]] std::string_view tenant_of(const Slot& slot) noexcept;

struct RecordParts {
  bool history = false;
  bool payload = false;
};
[[nodiscard]] MessageRecord record_of(Sequence sequence, const Slot& slot, RecordParts parts);

}  // namespace sagabox::memory
