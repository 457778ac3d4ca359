#include "core/digest_text.hpp"

#include <charconv>

namespace sagabox {

std::optional<Digest> digest_from_hex(std::string_view text) {
  Digest digest{};
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t at = 0; at < digest.size(); ++at) {
    const char* const from = text.data() + 2 * at;
    const auto [end, error] = std::from_chars(from, from + 2, digest[at], 16);
    if (error != std::errc() || end != from + 2) return std::nullopt;
  }
  return digest;
}

}  // namespace sagabox
