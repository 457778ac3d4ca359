#pragma once

#include <sagabox/time.hpp>

#include <chrono>

namespace sagabox::transports {

/// The delay before a parcel for which there was no room is offered again.
inline constexpr Duration room_wait = std::chrono::milliseconds(20);

}  // namespace sagabox::transports
