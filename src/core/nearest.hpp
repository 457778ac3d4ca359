#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sagabox {

/// The most similar of `names`; empty if none is similar enough.
std::string nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace sagabox
