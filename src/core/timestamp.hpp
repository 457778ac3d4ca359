#pragma once

#include <sagabox/time.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace sagabox {

/// RFC 3339 in UTC with microseconds: "2026-01-01T00:00:00.000000Z". Years 0 to 9999.
std::string timestamp_text(WallTime time);

/// RFC 3339: `2026-01-01T00:00:00Z`, a fraction and an offset (`+02:00`) allowed. Digits below a
/// microsecond are truncated. nullopt for any other text and for invalid dates.
std::optional<WallTime> time_from_text(std::string_view text);

}  // namespace sagabox
