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

/// How many spans an answer says were not taken (partial success); 0 for what cannot be read.
std::uint64_t otlp_rejected(std::string_view answer);

}  // namespace sagabox
