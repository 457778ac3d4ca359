#pragma once

#include "assembly/setting.hpp"

#include <vector>

namespace sagabox::assembly {

/// The holder is a TransportSettings.
std::vector<Setting> transports_parts();

}  // namespace sagabox::assembly
