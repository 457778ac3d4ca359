#pragma once

#include <sagabox/error.hpp>

namespace sagabox {

/// The HTTP status of an error code; defined only here.
unsigned http_status_of(Code code) noexcept;

}  // namespace sagabox
