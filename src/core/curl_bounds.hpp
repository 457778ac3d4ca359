#pragma once

#include <string>

namespace sagabox {

/// Before the first handle of libcurl. False: it does not work here.
bool curl_ready();

/// What libcurl may do, wherever it is used: http and https only, no redirects, no proxy of the
/// environment, no .netrc, no signals, TLS 1.2 or newer with the server's name checked. `easy` is
/// a CURL*; an empty `ca_file` means the system's. Throws std::bad_alloc.
void curl_bounds(void* easy, const std::string& ca_file);

}  // namespace sagabox
