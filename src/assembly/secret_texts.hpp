#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sagabox::assembly {

/// The secrets of a configuration, which no text about it may repeat: an error may quote the value
/// that it complains about.
class SecretTexts {
 public:
  /// Adds any value or key. If it looks like a URL or a connection string, its secret parts are
  /// masked wherever they are repeated.
  void add_text(const std::string& text);
  /// Adds the value of a password, a token or a header.
  void add_secret(const std::string& text);

  /// `text` with *** in place of the secrets.
  [[nodiscard]] std::string masked(std::string text) const;

 private:
  /// One secret may be part of another.
  struct LongerFirst {
    bool operator()(const std::string& a, const std::string& b) const noexcept {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    }
  };

  void add(std::string_view said, std::string_view shown);

  std::map<std::string, std::string, LongerFirst> replacements_;
};

}  // namespace sagabox::assembly
