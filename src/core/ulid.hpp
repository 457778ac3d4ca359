#pragma once

#include <sagabox/payload.hpp>
#include <sagabox/time.hpp>

#include <string>

namespace sagabox {

/// A ULID with this time, and the first 80 bits of `bits`: the same arguments give the same ULID.
std::string ulid_of(WallTime time, const Digest& bits);

}  // namespace sagabox
