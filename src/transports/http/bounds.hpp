#pragma once

#include <sagabox/time.hpp>

#include <curl/curl.h>

#include <new>
#include <string>

/// The restrictions of every libcurl handle.
namespace sagabox::http {

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  // Only unknown options, wrong types and lack of memory are refused: none can be handled here.
  if (curl_easy_setopt(easy, option, value) != CURLE_OK) throw std::bad_alloc();
}

struct CurlBounds {
  const std::string& ca_file;  ///< trusted certificate authorities; empty: those of the system
  Duration connect_max{};
};
/// Sets `curl_bounds`, and the limit for connecting. Throws std::bad_alloc.
void set_bounds(CURL* easy, const CurlBounds& bounds);

/// `buffer` is the buffer of CURLOPT_ERRORBUFFER.
std::string what_libcurl_says(CURL* easy, CURLcode code, const char* buffer);

}  // namespace sagabox::http
