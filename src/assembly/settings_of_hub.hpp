#pragma once

#include "assembly/setting.hpp"

namespace sagabox::assembly {

/// `hub`; the holder is a Configuration.
Setting hub_settings();

}  // namespace sagabox::assembly
