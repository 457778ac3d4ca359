#pragma once

#include <sagabox/random.hpp>
#include <sagabox/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::delivery {

/// Seals the secrets of endpoints before they are stored: AES-256-GCM with a random nonce. A sealed
/// secret names the key it was sealed with, so that keys can be replaced: `v1:KEY:BASE64`. It opens
/// only in the context it was sealed in, so that rows cannot be exchanged. Safe from any thread.
class SecretBox {
 public:
  static constexpr std::size_t key_bytes = 32;
  static constexpr std::size_t nonce_bytes = 12;
  static constexpr std::size_t tag_bytes = 16;
  static constexpr std::size_t key_id_length_max = 32;
  static constexpr std::size_t secret_bytes_max = 4096;

  /// `hub.secret_key`: `ID:BASE64` of 32 random bytes, ID of letters, digits, - and _. Several are
  /// separated by space or comma: the first one seals, all of them open. CONFIG.INVALID says which
  /// one is wrong, and never repeats a key.
  static Result<SecretBox> create(std::string_view text);

  /// A new key with this id, as `create` takes it. `random` must be fit for keys. CONFIG.INVALID:
  /// an id that is none.
  static Result<std::string> new_key(std::string_view id, Random& random);

  SecretBox(const SecretBox&) = delete;
  SecretBox& operator=(const SecretBox&) = delete;
  SecretBox(SecretBox&&) noexcept = default;
  SecretBox& operator=(SecretBox&&) = delete;
  ~SecretBox();

  /// `random` must be fit for keys: `secret_random()` outside of tests.
  [[nodiscard]] Result<std::string> seal(std::string_view secret, std::string_view context,
                                         Random& random) const;
  /// CONFIG.INVALID: the key is not there. AUTH.DENIED: the text was changed, the key has another
  /// value, or the context is another.
  [[nodiscard]] Result<std::string> open(std::string_view sealed, std::string_view context) const;
  /// False for one that should be sealed again, because its key is about to go.
  [[nodiscard]] bool is_sealed_by_first(std::string_view sealed) const;

 private:
  struct Key {
    std::string id;
    std::array<unsigned char, key_bytes> bytes{};
  };
  explicit SecretBox(std::vector<Key> keys) : keys_(std::move(keys)) {}
  static Result<Key> read_key(std::string_view text, std::size_t number);

  std::vector<Key> keys_;
};

}  // namespace sagabox::delivery
