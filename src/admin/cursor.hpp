#pragma once

#include <sagabox/records.hpp>
#include <sagabox/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace sagabox::admin {

/// Which list a cursor belongs to; another list has another number, but for chance.
std::uint32_t list_mark(const TableName& table, MessageState state, const MessageFilter& filter);

/// Where a list goes on, as a text that users hand back and need not understand.
std::string cursor_text(std::uint32_t mark, Sequence after);
/// The start for an empty text; error for one of another list.
Result<Sequence> cursor_place(std::uint32_t mark, std::string_view text);

}  // namespace sagabox::admin
