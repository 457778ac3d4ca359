#pragma once

#include <sagabox/time.hpp>

#include <chrono>

namespace sagabox::transports {

/// A parcel for which there is no room is offered again after so long.
inline constexpr Duration room_wait = std::chrono::milliseconds(20);

}  // namespace sagabox::transports
