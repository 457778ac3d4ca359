#pragma once

#include "observe/span_exporter.hpp"

#include <memory>

namespace sagabox {

/// Posts spans over HTTP, through libcurl. UNKNOWN.INTERNAL if libcurl cannot be initialised.
Result<std::unique_ptr<SpanPost>> open_curl_post(const OtlpOptions& options);

}  // namespace sagabox
