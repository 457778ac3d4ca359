#pragma once

#include <sagabox/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::http {

/// The content of a Standard Webhooks signature: exactly these bytes.
struct Signed {
  std::string_view id;
  std::int64_t timestamp = 0;  ///< seconds since 1970
  std::string_view body;
};

/// A key of Standard Webhooks. Immutable; thread-safe.
class SigningKey {
 public:
  virtual ~SigningKey() = default;
  /// Appends "v1,<base64>" or "v1a,<base64>".
  virtual void sign(const Signed& what, std::string& out) const = 0;

  /// `whsec_<base64>` (HMAC-SHA256, 24 to 64 bytes) or `whsk_<base64>` (ed25519, a seed of 32
  /// bytes). CONFIG.INVALID never shows the key.
  static Result<std::unique_ptr<const SigningKey>> parse(std::string_view text);
};

/// Several while a key rotates.
using SigningKeys = std::vector<std::unique_ptr<const SigningKey>>;

/// The value of `webhook-signature`: one signature for each key, separated by spaces.
std::string signatures(const SigningKeys& keys, const Signed& what);

}  // namespace sagabox::http
