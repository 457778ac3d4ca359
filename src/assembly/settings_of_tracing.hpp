#pragma once

#include "assembly/setting.hpp"

namespace sagabox::assembly {

/// The section `tracing`; the holder is a Configuration.
Setting tracing_settings();

}  // namespace sagabox::assembly
