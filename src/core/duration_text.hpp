#pragma once

#include <sagabox/time.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace sagabox {

/// "500ms", "1.5s", "5m", "7d"; 0 needs no unit. Nullopt for anything else.
std::optional<Duration> duration_from_text(std::string_view text);

/// In the largest unit that is a whole number of times in it: "90s", "2h". `duration_from_text`
/// reads it back.
std::string exact_duration_text(Duration duration);

}  // namespace sagabox
