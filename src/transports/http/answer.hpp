#pragma once

#include <sagabox/spi/transport.hpp>

#include <string>
#include <string_view>

namespace sagabox::http {

/// The answer to a request, if there was one.
struct Answer {
  std::string_view host;
  int curl_code = 0;              ///< CURLcode
  std::string_view curl_error{};  ///< libcurl's error text
  int status = 0;                 ///< 0: no answer
  std::string_view retry_after{};
  std::string_view refusal{};  ///< the guard's, if it allowed no address
  bool is_name = true;         ///< of the host: it may resolve to another address next time
  bool past_deadline = false;
  bool request_sent = false;  ///< at least in part
};

/// The result of the parcel. A status counts however the connection ended.
spi::SendResult judge(const Answer& answer, WallTime now);

}  // namespace sagabox::http
