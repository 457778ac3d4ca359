#pragma once

#include <string>

namespace sagabox::transports {

/// TLS 1.2 or newer. The server's certificate is checked against the host that was asked for; there
/// is no way to leave that out. Files are PEM.
struct Tls {
  bool enabled = false;
  std::string ca_file{};           ///< who may vouch for the server; empty: the system's list
  std::string certificate_file{};  ///< ours, where the server asks for one
  std::string key_file{};          ///< its private key
};

}  // namespace sagabox::transports
