#include "core/curl_bounds.hpp"

#include <curl/curl.h>

#include <new>

namespace sagabox {
namespace {

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  // Only unknown options, wrong types and lack of memory are refused; none of these can be handled
  // here.
  if (curl_easy_setopt(easy, option, value) != CURLE_OK) throw std::bad_alloc();
}

}  // namespace

bool curl_ready() {
  static const auto initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  return initialised == CURLE_OK;
}

void curl_bounds(void* easy, const std::string& ca_file) {
#if LIBCURL_VERSION_NUM >= 0x075500
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  set(easy, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  set(easy, CURLOPT_QUICK_EXIT, 1L);  // a DNS lookup that hangs does not block the others
#endif
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_PROXY, "");
  set(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(easy, CURLOPT_USERAGENT, "sagabox");
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  set(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (ca_file.empty()) return;
  set(easy, CURLOPT_CAINFO, ca_file.c_str());
  set(easy, CURLOPT_CAPATH, nullptr);
}

}  // namespace sagabox
