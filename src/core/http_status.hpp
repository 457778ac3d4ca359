#pragma once

#include <sagabox/error.hpp>

namespace sagabox {

/// The one place that says which HTTP status an error is.
unsigned http_status_of(Code code) noexcept;

}  // namespace sagabox
