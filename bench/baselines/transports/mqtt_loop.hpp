#pragma once

#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace sagabox::bench::baselines {

/// mosquitto_publish_v5 with QoS 1 beside the library's own thread, at most `window` without an
/// answer; messages a second.
double mqtt_loop(std::uint16_t port, const std::string& to, std::uint32_t messages,
                 std::uint32_t window, const std::function<spi::Parcel(std::uint32_t)>& parcel);

}  // namespace sagabox::bench::baselines
