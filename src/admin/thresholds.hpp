#pragma once

#include <sagabox/time.hpp>

#include <chrono>

namespace sagabox::admin {

/// A transaction open for longer has noticeable effects.
inline constexpr Duration transaction_max = std::chrono::seconds(60);

}  // namespace sagabox::admin
