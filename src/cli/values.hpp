#pragma once

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// What people type on the command line, read strictly: an error quotes the text and shows what
/// would be right.
namespace sagabox::cli {

/// "500ms", "3s", "10m", "1h", "1.5s". Longer than 0, at most 24 hours.
Result<Duration> parse_duration(std::string_view text);

/// A whole number from `min` to `max`. `what` names it in the error: "rate", "workers".
Result<std::uint32_t> parse_count(std::string_view what, std::string_view text, std::uint32_t min,
                                  std::uint32_t max);

/// "0" to "100", a fraction and a trailing % allowed.
Result<double> parse_percent(std::string_view text);

/// The store that a URL names, if this build has it: "memory:", "sqlite:FILE".
Result<std::string> parse_store(std::string_view text);

}  // namespace sagabox::cli
