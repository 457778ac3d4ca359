#pragma once

#include "stores/sqlite/schema.hpp"

#include <span>

namespace sagabox::sqlite {

/// The engine "hub".
std::span<const Migration> hub_steps() noexcept;

/// All engines and the hub. `engines()` leaves it out, and with it what lists steps to operators,
/// until every store has it.
std::span<const Engine> engines_with_hub();

}  // namespace sagabox::sqlite
