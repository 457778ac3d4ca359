#pragma once

#include <sagabox/time.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace sagabox {

/// "500ms", "1.5s", "5m", "7d"; 0 needs no unit. nullopt for any other text.
std::optional<Duration> duration_from_text(std::string_view text);

/// Uses the largest unit that divides the duration exactly: "90s", "2h". `duration_from_text`
/// returns the same duration.
std::string exact_duration_text(Duration duration);

}  // namespace sagabox
