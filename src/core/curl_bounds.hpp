#pragma once

#include <string>

namespace sagabox {

/// Call it before creating the first libcurl handle. Returns false if libcurl cannot be used.
bool curl_ready();

/// Restricts libcurl, for every use: http and https only, no redirects, no proxy of the
/// environment, no .netrc, no signals, TLS 1.2 or newer with the server's name checked. `easy` is a
/// CURL*; an empty `ca_file` means the system's. Throws std::bad_alloc.
void curl_bounds(void* easy, const std::string& ca_file);

}  // namespace sagabox
