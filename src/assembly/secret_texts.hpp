#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sagabox::assembly {

/// What a configuration says that no text about it may repeat: whatever finds fault with a value
/// may quote it.
class SecretTexts {
 public:
  /// Any value or key. Where it reads like a URL or a connection string, what may be secret in it
  /// is masked wherever it is repeated.
  void add_text(const std::string& text);
  /// The value of a password, a token or a header.
  void add_secret(const std::string& text);

  /// `text` with *** for what was added.
  [[nodiscard]] std::string masked(std::string text) const;

 private:
  /// One secret may be a part of another.
  struct LongerFirst {
    bool operator()(const std::string& a, const std::string& b) const noexcept {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    }
  };

  void add(std::string_view said, std::string_view shown);

  std::map<std::string, std::string, LongerFirst> replacements_;
};

}  // namespace sagabox::assembly
