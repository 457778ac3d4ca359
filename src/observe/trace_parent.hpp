#pragma once

#include <sagabox/random.hpp>
#include <sagabox/tracing.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sagabox {

/// A parsed W3C traceparent.
struct TraceParent {
  TraceId trace{};
  SpanId span{};
  bool sampled = false;
};

/// nullopt if `text` is not a traceparent.
std::optional<TraceParent> parse_traceparent(std::string_view text);

/// Two digits per byte.
std::string hex_of(std::span<const std::uint8_t> bytes);

/// The traceparent for child spans of this span.
std::string traceparent_of(const TraceSpan& span);

SpanId new_span_id(Random& random);

/// The trace id of a message that was written without one. It is the same for every attempt in
/// every process, and so is the sampling decision.
TraceId trace_of_message(std::string_view table, std::string_view message);

/// Whether a trace is sampled at this ratio; decided by its last seven bytes.
bool is_sampled(const TraceId& trace, double ratio);

}  // namespace sagabox
