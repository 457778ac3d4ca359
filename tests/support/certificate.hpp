#pragma once

#include <filesystem>
#include <string>

namespace sagabox::testing {

/// A self-signed certificate for one name ("DNS:localhost", "IP:127.0.0.1") and its key, as files.
struct Certificate {
  enum class Key { ec, rsa };
  static Certificate make(const std::filesystem::path& folder, const std::string& name,
                          Key kind = Key::ec);

  std::filesystem::path certificate;
  std::filesystem::path key;
};

}  // namespace sagabox::testing
