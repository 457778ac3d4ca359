#pragma once

#include <sagabox/message.hpp>

namespace sagabox {

/// Every rule of a draft but that of its id. The first one broken is reported.
Status check_draft(const NewMessage& draft, const MessageRules& rules);

/// Whether `text` is a W3C traceparent: `00-<32 hex>-<16 hex>-<2 hex>`, or a later version of it.
bool is_traceparent(std::string_view text) noexcept;

}  // namespace sagabox
