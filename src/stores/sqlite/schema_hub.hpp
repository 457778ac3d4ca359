#pragma once

#include "stores/sqlite/schema.hpp"

#include <span>

namespace sagabox::sqlite {

/// The engine "hub".
std::span<const Migration> hub_steps() noexcept;

}  // namespace sagabox::sqlite
