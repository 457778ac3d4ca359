#pragma once

#include <sagabox/random.hpp>
#include <sagabox/tracing.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sagabox {

/// A W3C traceparent, taken apart.
struct TraceParent {
  TraceId trace{};
  SpanId span{};
  bool sampled = false;
};

/// Nothing for what is none.
std::optional<TraceParent> parse_traceparent(std::string_view text);

/// Two digits a byte.
std::string hex_of(std::span<const std::uint8_t> bytes);

/// What is handed to those whose spans are to be below this one.
std::string traceparent_of(const TraceSpan& span);

SpanId new_span_id(Random& random);

/// The trace of a message that was written without one. Every attempt, in whatever process, finds
/// the same, and so the same answer to whether it is sampled.
TraceId trace_of_message(std::string_view table, std::string_view message);

/// Whether a trace is among `ratio` of all: as its last seven bytes say.
bool is_sampled(const TraceId& trace, double ratio);

}  // namespace sagabox
