#pragma once

#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace sagabox::bench::baselines {

/// XADD through hiredis, `window` appended to its buffer, then as many replies read; messages a
/// second.
double redis_loop(std::uint16_t port, const std::string& to, std::uint32_t messages,
                  std::uint32_t window, const std::function<spi::Parcel(std::uint32_t)>& parcel);

}  // namespace sagabox::bench::baselines
