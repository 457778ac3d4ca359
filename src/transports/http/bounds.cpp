#include "transports/http/bounds.hpp"

#include "core/curl_bounds.hpp"

#include <system_error>

namespace sagabox::http {

void set_bounds(CURL* easy, const CurlBounds& bounds) {
  curl_bounds(easy, bounds.ca_file);
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  const auto connect_max = std::chrono::ceil<std::chrono::milliseconds>(bounds.connect_max).count();
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect_max));
}

std::string what_libcurl_says(CURL* easy, CURLcode code, const char* buffer) {
  std::string text(*buffer == '\0' ? curl_easy_strerror(code) : buffer);
  long system_error = 0;
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &system_error);
  if (system_error != 0) {
    text += " (" + std::generic_category().message(static_cast<int>(system_error)) + ")";
  }
  return text;
}

}  // namespace sagabox::http
