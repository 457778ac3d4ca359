#pragma once

#include <sagabox/spi/transport.hpp>

#include <string>
#include <string_view>

namespace sagabox::http {

/// What came back, if anything did.
struct Answer {
  std::string_view host;
  int curl_code = 0;              ///< CURLcode
  std::string_view curl_error{};  ///< what libcurl says about it
  int status = 0;                 ///< 0: none came
  std::string_view retry_after{};
  std::string_view refusal{};  ///< the guard's, when it let no address through
  bool is_name = true;         ///< of the host: may lead elsewhere another time
  bool past_deadline = false;
  bool request_sent = false;  ///< at least in part
};

/// What became of the parcel. A status counts however the connection ended.
spi::SendResult judge(const Answer& answer, WallTime now);

}  // namespace sagabox::http
