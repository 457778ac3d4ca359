#pragma once

#include "assembly/configuration.hpp"
#include "assembly/setting.hpp"

#include <string>
#include <vector>

namespace sagabox::assembly {

/// The options that only some stores have. The holder is a StoreSettings.
std::vector<Setting> store_option_parts();

/// One text for each option that was given to a store that does not have it; begins with the
/// option's path.
std::vector<std::string> wrong_store_options(const StoreSettings& store);

}  // namespace sagabox::assembly
