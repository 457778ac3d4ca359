#pragma once

#include "stores/sqlite/schema.hpp"

#include <span>

namespace sagabox::sqlite {

/// Records of requests.
std::span<const Migration> idempotency_steps() noexcept;
/// Records of consumers and of participants of sagas.
std::span<const Migration> inbox_steps() noexcept;

}  // namespace sagabox::sqlite
