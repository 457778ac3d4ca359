#pragma once

#include <sagabox/payload.hpp>

#include <optional>
#include <string_view>

namespace sagabox {

/// Reads the output of `hex`; nullopt for any other text.
std::optional<Digest> digest_from_hex(std::string_view text);

}  // namespace sagabox
