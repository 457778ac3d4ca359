#pragma once

#include <sagabox/tracing.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sagabox {

/// The body of an export request: ExportTraceServiceRequest in the JSON encoding of OTLP. Pure.
/// `resource` describes the process that made the spans.
std::string otlp_json(const Headers& resource, std::span<const TraceSpan> spans);

/// The number of rejected spans in an answer (partial success); 0 if it cannot be parsed.
std::uint64_t otlp_rejected(std::string_view answer);

}  // namespace sagabox
