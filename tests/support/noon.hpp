#pragma once

#include <sagabox/time.hpp>

#include <chrono>

namespace sagabox::testing {

/// 2026-01-01T12:00:00Z
inline constexpr WallTime noon{std::chrono::seconds(1'767'268'800)};

}  // namespace sagabox::testing
