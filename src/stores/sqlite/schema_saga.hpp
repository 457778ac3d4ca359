#pragma once

#include "stores/sqlite/schema.hpp"

#include <span>

namespace sagabox::sqlite {

/// The engine "saga".
std::span<const Migration> saga_steps() noexcept;

}  // namespace sagabox::sqlite
