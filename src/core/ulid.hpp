#pragma once

#include <sagabox/payload.hpp>
#include <sagabox/time.hpp>

#include <string>

namespace sagabox {

/// A ULID of this time whose other 80 bits are the first of `bits`: the same for the same.
std::string ulid_of(WallTime time, const Digest& bits);

}  // namespace sagabox
