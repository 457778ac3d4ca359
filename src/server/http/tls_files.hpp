#pragma once

#include <string>

namespace sagabox::server {

/// PEM files.
struct TlsFiles {
  std::string certificate;  ///< with the chain, the own one first
  std::string key;
};

}  // namespace sagabox::server
