#pragma once

#include <sagabox/time.hpp>

#include <optional>
#include <string_view>

namespace sagabox {

/// How long the value of a `Retry-After` asks to wait: seconds or a date. Nothing for what is
/// neither; zero for a date that has passed. No longer than a day: nobody who asks for more is
/// believed.
std::optional<Duration> asked_wait(std::string_view retry_after, WallTime now);

}  // namespace sagabox
