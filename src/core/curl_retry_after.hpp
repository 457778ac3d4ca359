#pragma once

#include <sagabox/time.hpp>

#include <optional>
#include <string_view>

namespace sagabox {

/// The wait that the value of a `Retry-After` requests, in seconds or as a date. nullopt if it is
/// neither; zero for a date in the past. Longer waits are limited to one day.
std::optional<Duration> asked_wait(std::string_view retry_after, WallTime now);

}  // namespace sagabox
