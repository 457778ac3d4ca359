#pragma once

#include <sagabox/spi/transport.hpp>

#include <string>
#include <vector>

namespace sagabox::bench::baselines {

/// What signs a webhook by Standard Webhooks with HMAC-SHA256, with OpenSSL alone, and the two
/// headers of the hub beside it.
std::vector<std::string> webhook_headers(const spi::Parcel& parcel, const std::string& key);

}  // namespace sagabox::bench::baselines
