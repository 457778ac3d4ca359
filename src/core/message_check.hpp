#pragma once

#include <sagabox/message.hpp>

namespace sagabox {

/// Checks every rule of a draft except the one for its id. Reports the first broken rule.
Status check_draft(const NewMessage& draft, const MessageRules& rules);

/// Whether `text` is a W3C traceparent: `00-<32 hex>-<16 hex>-<2 hex>`, or a later version of it.
bool is_traceparent(std::string_view text) noexcept;

}  // namespace sagabox
