#pragma once

#include <string>

namespace sagabox::transports {

/// TLS 1.2 or newer. The server's certificate is always checked against the requested host; this
/// cannot be disabled. Files are PEM.
struct Tls {
  bool enabled = false;
  std::string ca_file{};           ///< trusted CA certificates; empty: the system's
  std::string certificate_file{};  ///< the client certificate, if the server requires one
  std::string key_file{};          ///< its private key
};

}  // namespace sagabox::transports
