#pragma once

#include <cstdint>
#include <string_view>

namespace sagabox {

/// Identifies a tenant's key wherever messages are ordered by key. The same in every process and
/// version; tenant "a" with key "bc" differs from tenant "ab" with key "c".
[[nodiscard]] std::uint64_t key_hash(std::string_view tenant, std::string_view key) noexcept;

}  // namespace sagabox
