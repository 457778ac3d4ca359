#pragma once

#include <cstdint>
#include <vector>

namespace sagabox::crash {

/// SAGABOX_SEEDS: a seed or a range, "17" or "1-50"; otherwise from 1 to `last`.
std::vector<std::uint64_t> wanted_seeds(std::uint64_t last = 1);

}  // namespace sagabox::crash
