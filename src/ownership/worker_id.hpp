#pragma once

#include <sagabox/id.hpp>

#include <cstddef>
#include <string_view>

namespace sagabox::ownership {

/// Room for the name in an id.
inline constexpr std::size_t worker_name_max = 25;

/// "relay-a:4711-3F0V9ZC2N7": the name, and letters that make it another id each time. Without a
/// name: a ULID.
WorkerId new_worker_id(UlidSource& ids, std::string_view name);

}  // namespace sagabox::ownership
