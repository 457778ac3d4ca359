#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sagabox {

/// The name that is meant by this one, most likely; empty: none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace sagabox
