#pragma once

#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace sagabox::bench::baselines {

/// amqp_basic_publish on a channel with confirms, at most `window` without one; messages a second.
double amqp_loop(std::uint16_t port, const std::string& to, std::uint32_t messages,
                 std::uint32_t window, const std::function<spi::Parcel(std::uint32_t)>& parcel);

}  // namespace sagabox::bench::baselines
