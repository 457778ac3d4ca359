#pragma once

#include <string>

namespace sagabox::server {

/// PEM files.
struct TlsFiles {
  std::string certificate;  ///< with the chain, its own certificate first
  std::string key;
};

}  // namespace sagabox::server
