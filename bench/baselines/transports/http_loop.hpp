#pragma once

#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sagabox::bench::baselines {

/// How a loop around libcurl's multi interface waits for its sockets.
enum class HttpWaiting : std::uint8_t {
  poll,   ///< curl_multi_perform and curl_multi_poll
  epoll,  ///< curl_multi_socket_action and epoll
};

struct HttpLoop {
  std::string url;
  std::uint32_t messages = 0;
  std::uint32_t connections = 64;
  HttpWaiting waiting = HttpWaiting::epoll;
  std::function<spi::Parcel(std::uint32_t)> parcel;
  /// Lines beside those of the message; asked when it is sent.
  std::function<std::vector<std::string>(const spi::Parcel&)> more_headers{};
};

/// libcurl as its examples use it: one thread, so many easy handles, each used again for the next
/// message, headers by curl_slist_append. Messages a second.
double http_loop(const HttpLoop& loop);

}  // namespace sagabox::bench::baselines
