#pragma once

#include "assembly/setting.hpp"

namespace sagabox::assembly {

/// `sagas`; the holder is a Configuration.
Setting saga_settings();

}  // namespace sagabox::assembly
