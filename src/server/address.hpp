#pragma once

#include <sagabox/result.hpp>

#include <boost/asio/ip/address.hpp>

#include <string>

namespace sagabox::server {

/// A numeric address, or localhost; CONFIG.INVALID when it is neither.
Result<boost::asio::ip::address> parse_address(const std::string& text);

}  // namespace sagabox::server
