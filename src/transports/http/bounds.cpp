#include "transports/http/bounds.hpp"

#include <system_error>

namespace sagabox::http {

void set_bounds(CURL* easy, const CurlBounds& bounds) {
#if LIBCURL_VERSION_NUM >= 0x075500
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  set(easy, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  set(easy, CURLOPT_QUICK_EXIT, 1L);  // a lookup that hangs does not hold up the others
#endif
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_PROXY, "");
  set(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(easy, CURLOPT_USERAGENT, "sagabox");
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  set(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!bounds.ca_file.empty()) {
    set(easy, CURLOPT_CAINFO, bounds.ca_file.c_str());
    set(easy, CURLOPT_CAPATH, nullptr);
  }
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
