#pragma once

#include <sagabox/records.hpp>
#include <sagabox/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace sagabox::admin {

/// Identifies the list that a cursor belongs to; another list has another number, except by chance.
std::uint32_t list_mark(const TableName& table, MessageState state, const MessageFilter& filter);

/// The position where a list continues, as a text that users pass back unchanged.
std::string cursor_text(std::uint32_t mark, Sequence after);
/// The start for an empty text; an error for the cursor of another list.
Result<Sequence> cursor_place(std::uint32_t mark, std::string_view text);

}  // namespace sagabox::admin
