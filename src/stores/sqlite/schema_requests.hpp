#pragma once

#include "stores/sqlite/schema.hpp"

#include <span>

namespace sagabox::sqlite {

/// Records of requests.
std::span<const Migration> idempotency_steps() noexcept;
/// What consumers and participants of sagas note.
std::span<const Migration> inbox_steps() noexcept;

}  // namespace sagabox::sqlite
