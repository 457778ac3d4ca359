#pragma once

#include <sagabox/time.hpp>

#include <curl/curl.h>

#include <new>
#include <string>

/// What a handle of libcurl may do, whoever uses it.
namespace sagabox::http {

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  // Only unknown options, wrong types and lack of memory are refused: none can be made good here.
  if (curl_easy_setopt(easy, option, value) != CURLE_OK) throw std::bad_alloc();
}

struct CurlBounds {
  const std::string& ca_file;  ///< who may have signed certificates; empty: whom the system trusts
  Duration connect_max{};
};
/// As `curl_bounds`, and how long connecting may take. Throws std::bad_alloc.
void set_bounds(CURL* easy, const CurlBounds& bounds);

/// `buffer` is what CURLOPT_ERRORBUFFER was given.
std::string what_libcurl_says(CURL* easy, CURLcode code, const char* buffer);

}  // namespace sagabox::http
