#pragma once

#include "flow/deferred.hpp"

#include <cstdint>

/// Classes and positions that tests of deferred rows have in common.
namespace sagabox::flow {

inline constexpr ClassId down_class{1};
inline constexpr ClassId slow_class{2};

inline Sequence seq(std::uint64_t value) { return Sequence{value}; }

}  // namespace sagabox::flow
