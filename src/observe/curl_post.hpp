#pragma once

#include "observe/span_exporter.hpp"

#include <memory>

namespace sagabox {

/// Over HTTP, through libcurl. UNKNOWN.INTERNAL when that does not work here.
Result<std::unique_ptr<SpanPost>> open_curl_post(const OtlpOptions& options);

}  // namespace sagabox
