#pragma once

#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace sagabox::bench::baselines {

/// libnats as its examples use it: js_PublishMsgAsync, so many under way at most, and
/// js_PublishAsyncComplete at the end. Messages a second.
double nats_loop(const std::string& url, const std::string& subject, std::uint32_t messages,
                 std::uint32_t under_way_max,
                 const std::function<spi::Parcel(std::uint32_t)>& parcel);

}  // namespace sagabox::bench::baselines
