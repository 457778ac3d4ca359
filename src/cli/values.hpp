#pragma once

#include <sagabox/id.hpp>
#include <sagabox/records.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Values typed on the command line, parsed strictly: an error quotes the text and shows a correct
/// one.
namespace sagabox::cli {

/// "500ms", "3s", "10m", "1h", "1.5s". Longer than 0, at most 24 hours.
Result<Duration> parse_duration(std::string_view text);

/// An age: the same, and days: "7d", up to 36500d; "0" too.
Result<Duration> parse_age(std::string_view text);

/// "2026-01-31", "2026-01-31T03:00:00Z", with a fraction and an offset (+01:00) if there is one.
Result<WallTime> parse_time(std::string_view text);

/// A point in time, or how long ago. An age is converted later, by the database's clock.
struct When {
  std::optional<WallTime> at{};
  Duration ago{};
  [[nodiscard]] WallTime by(WallTime now) const {
    return at ? *at : now - std::chrono::duration_cast<WallTime::duration>(ago);
  }
};
/// "2h", "7d", or a time.
Result<When> parse_when(std::string_view text);

/// The begin or end of a replay: a sequence, or a point in time.
struct ReplayBound {
  std::optional<Sequence> sequence{};
  std::optional<When> when{};
};
/// "8812", "2h", or a time.
Result<ReplayBound> parse_bound(std::string_view text);

/// "50/s" or "50": messages a second, from 1 to 1000000.
Result<std::uint32_t> parse_rate(std::string_view text);

/// "PROVIDER.REJECTED"
Result<Code> parse_code(std::string_view text);
/// "pending", "done", "dead", "quarantined".
Result<MessageState> parse_state(std::string_view text);

/// A whole number from `min` to `max`. `what` names it in the error: "rate", "workers".
Result<std::uint32_t> parse_count(std::string_view what, std::string_view text, std::uint32_t min,
                                  std::uint32_t max);

/// "0" to "100", a fraction and a trailing % allowed.
Result<double> parse_percent(std::string_view text);

/// The store that a URL names, if this build has it: "memory:", "sqlite:FILE".
Result<std::string> parse_store(std::string_view text);

}  // namespace sagabox::cli
