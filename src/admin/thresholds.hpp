#pragma once

#include <sagabox/time.hpp>

#include <chrono>

namespace sagabox::admin {

/// Open for longer, a transaction makes itself felt.
inline constexpr Duration transaction_max = std::chrono::seconds(60);

}  // namespace sagabox::admin
