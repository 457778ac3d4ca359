#pragma once

#include <sagabox/payload.hpp>

#include <optional>
#include <string_view>

namespace sagabox {

/// What `hex` has spelled; nothing when it is anything else.
std::optional<Digest> digest_from_hex(std::string_view text);

}  // namespace sagabox
